"""Photograph pages in Chromium, wide and narrow, light and dark, into build/screenshots, to be looked at."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
PAGES = (
    "index.html",
    "how-to/choose-epsilon.html",
    "how-to/coming-from-libraries.html",
    "gallery/index.html",
    "reference/python.html",
    "reference/glossary.html",
)
WIDTHS = {"wide": "1500,2400", "narrow": "500,2400"}
SCHEMES = {"dark": "0", "light": "1"}


def main() -> int:
    """Photograph the pages of the site, or those that are named; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="HTML files; some pages of build/site if none is given")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "screenshots", help="the folder of the pictures")
    asked = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("There is no Chromium here; Debian has it in the package chromium.", file=sys.stderr)
        return 1
    asked.to.mkdir(parents=True, exist_ok=True)
    for page, width, scheme in product(asked.pages or [SITE / name for name in PAGES], WIDTHS, SCHEMES):
        picture = asked.to / f"{page.parent.name}-{page.stem}-{width}-{scheme}.png"
        photograph(browser, page, picture, WIDTHS[width], SCHEMES[scheme])
        print(picture)
    return 0


def photograph(browser: str, page: Path, picture: Path, size: str, scheme: str) -> None:
    """Write one picture of a page, with a profile of its own and without a network."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            "--headless",
            "--no-sandbox",  # it opens nothing but our own files
            "--hide-scrollbars",
            "--proxy-server=127.0.0.1:9",  # nothing listens there: a page that needs a network shows it
            f"--user-data-dir={profile}",
            f"--window-size={size}",
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--screenshot={picture.resolve()}",
            page.resolve().as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    sys.exit(main())
