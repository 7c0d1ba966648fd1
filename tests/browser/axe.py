"""axe-core, the checks of accessibility: fetched from npm when it is first needed, and never a part of Lapwing."""

import shutil
import subprocess
from pathlib import Path

import pytest

VERSION = "4.14.0"
HERE = Path(__file__).parents[2] / ".axe"
NO_AXE = "NO AXE-CORE HERE: the accessibility of pages is NOT CHECKED; it is fetched by npm, which needs a registry"

RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map((each) => ({
    id: each.id, impact: each.impact, help: each.help,
    where: each.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)),
  }));
}"""


def script():
    """Return the text of axe-core; skip, loudly, if it cannot be had."""
    file = HERE / "node_modules" / "axe-core" / "axe.min.js"
    if not file.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(NO_AXE)
        command = [npm, "install", "--prefix", str(HERE), "--no-audit", "--no-fund", "--ignore-scripts"]
        HERE.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run([*command, f"axe-core@{VERSION}"], check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError):
            pytest.skip(NO_AXE)
    return file.read_text(encoding="utf-8")


def violations(page, text):
    """Return what is wrong with a page that is serious or critical."""
    page.evaluate(text)
    return [each for each in page.evaluate(RUN) if each["impact"] in ("serious", "critical")]
