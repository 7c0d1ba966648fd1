"""Run the same task with Lapwing's peers, each in an environment of its own, and put code and output on a page.

The task: visits and their mean cost by ward, for at most 3 visits of a patient, at a total of ε = 1, and then one
question too many.  The snippets are in bench/side_by_side; what they printed, with versions, is recorded beside them in
printed.json.  The page is docs/how-to/coming-from-libraries.md; with --page it is written from the record alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
SNIPPETS = ROOT / "bench" / "side_by_side"
RECORD = SNIPPETS / "printed.json"
PAGE = ROOT / "docs" / "how-to" / "coming-from-libraries.md"
TIMEOUT = 300


@dataclass(frozen=True)
class Library:
    """A peer: its key, its name, the packages whose versions are shown, and what pip installs."""

    key: str
    name: str
    packages: tuple[str, ...]
    pins: tuple[str, ...]


LIBRARIES = (
    Library("opendp", "OpenDP", ("opendp", "polars"), ("opendp[polars]==0.16.0",)),
    Library("tumult", "Tumult Analytics", ("tmlt.analytics", "pyspark"), ("tmlt.analytics==0.21.0",)),
    Library(
        "diffprivlib",
        "diffprivlib",
        ("diffprivlib",),
        ("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1"),
    ),
    Library("pipelinedp", "PipelineDP", ("pipeline-dp", "python-dp"), ("pipeline-dp==0.3.1",)),
    Library("smartnoise", "SmartNoise SQL", ("smartnoise-sql",), ("smartnoise-sql==1.0.10",)),
)


def main() -> int:
    """Run what is asked for, keep the record, write the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="keys of libraries; all if none is given")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from the record")
    asked = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    failed = 0
    for library in LIBRARIES:
        if not asked.page and (not asked.only or library.key in asked.only):
            print(f"{library.name} …", flush=True)
            record[library.key] = run(library)
            failed += "failed" in record[library.key]
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    PAGE.write_text(page(PAGE.read_text(), record))
    return failed > 0


def run(library: Library) -> dict[str, str]:
    """Return what a snippet printed in its own environment, with versions and the date, or how it failed."""
    from noise import Peer, install  # needs Lapwing, which the page alone does not

    day = datetime.now(UTC).date().isoformat()
    python = install(Peer(f"side-{library.key}", library.name, (library.pins,)))
    if python is None:
        return {"date": day, "failed": "could not be installed"}
    versions = "; ".join(f"print({name!r}, version({name!r}))" for name in library.packages)
    asked = f"from importlib.metadata import version; {versions}"
    told = subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(SNIPPETS / "make_visits.py")], cwd=folder, check=True)
        environment = {**os.environ, "PYSPARK_PYTHON": str(python)}
        command = [str(python), str(SNIPPETS / f"with_{library.key}.py")]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            return {"date": day, "failed": f"was stopped after {TIMEOUT} seconds"}
    if done.returncode:
        return {"date": day, "failed": done.stderr.strip().splitlines()[-1]}
    return {"date": day, "printed": done.stdout, "versions": ", ".join(told.split("\n")).strip(", ")}


def page(text: str, record: dict[str, dict[str, str]]) -> str:
    """Return the page with the code and the output of every library between its marks."""
    for library in LIBRARIES:
        mark = re.compile(rf"(<!-- {library.key} -->\n).*?(<!-- end -->\n)", re.DOTALL)
        part = section(library, record.get(library.key, {"failed": "was not run"}))
        text, found = mark.subn(lambda marks, part=part: marks[1] + part + marks[2], text)
        if found != 1:
            raise ValueError(f"{PAGE.name} has {found} places for {library.key}")
    return text


def section(library: Library, told: dict[str, str]) -> str:
    """Return the code of one library, and below it what it printed or that it did not run."""
    code = (SNIPPETS / f"with_{library.key}.py").read_text().partition('"""\n\n')[2]
    parts = [f"```py\n{code}```\n"]
    if "printed" in told:
        parts.append(f"Printed by {told['versions']} on {told['date']}:\n\n```text\n{told['printed'].rstrip()}\n```\n")
    else:
        parts.append(f"Not run: {told['failed']}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
