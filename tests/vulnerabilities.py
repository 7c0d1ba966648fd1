"""Whether the versions of constraints.txt have known vulnerabilities, by pip-audit; `make vulnerabilities` runs this.

An index may answer without any advisory, and pip-audit then finds nothing and says so.  So a version that has a known
vulnerability is looked up first: a database that does not know it is no database.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = Path(__file__).parents[1] / "constraints.txt"
KNOWN = "jinja2==2.4.1"
"""A version with vulnerabilities that every database of advisories has had for years."""

DATABASES = ("pypi", "osv")
NO_DATABASE = "NO ADVISORY DATABASE: the pinned versions are NOT CHECKED for known vulnerabilities"
SECONDS = 240


def looked_up(pip_audit, pins, database):
    """Return what a database knows about each version of a file; None if it cannot be asked."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [pip_audit, "--requirement", str(pins), "--no-deps", "--disable-pip", "--progress-spinner", "off"]
        words += ["--vulnerability-service", database, "--format", "json", "--output", str(report)]
        try:
            subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)  # its status is 1 for any failure
            return json.loads(report.read_text(encoding="utf-8"))["dependencies"]
        except (subprocess.TimeoutExpired, OSError, ValueError, KeyError):
            return None


def found_in(answer):
    """Return the vulnerabilities in an answer, as lines, and the names that were not checked."""
    lines = [
        f"{each['name']} {each['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'no version'}"
        for each in answer
        for flaw in each.get("vulns", ())
    ]
    return lines, [each["name"] for each in answer if "vulns" not in each]


def check(look_up, write=sys.stdout.write):
    """Look the pinned versions up in the first database that knows what is known; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder) / "known.txt"
        known.write_text(f"{KNOWN}\n")
        usable = [each for each in DATABASES if found_in(look_up(known, each) or [])[0]]
    answer = look_up(PINS, usable[0]) if usable else None
    if not answer:
        write(f"{NO_DATABASE}\n")
        return 0
    lines, skipped = found_in(answer)
    for line in lines:
        write(f"VULNERABLE: {line}\n")
    if skipped:
        write(f"NOT CHECKED for known vulnerabilities: {', '.join(skipped)}\n")
    write(f"{len(answer) - len(skipped)} versions checked, {len(lines)} known vulnerabilities\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(check(lambda pins, database: looked_up(sys.argv[1], pins, database)))
