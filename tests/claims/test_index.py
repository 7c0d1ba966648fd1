"""Every claim stands in src, is proven in docs/explanation and is executed in tests/claims."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATED = re.compile(r"^\s*Claim ([A-Z]\d+)\b", re.MULTILINE)
PROVEN = re.compile(r"^#+ Claim ([A-Z]\d+)\b", re.MULTILINE)


def numbers(pattern: re.Pattern[str], folder: str, ending: str) -> list[str]:
    texts = (path.read_text() for path in sorted((ROOT / folder).rglob(f"*{ending}")))
    return [number for text in texts for number in pattern.findall(text)]


def claims_tested() -> set[str]:
    names = re.findall(r"def (test_\w+)", "\n".join(p.read_text() for p in (ROOT / "tests/claims").glob("test_*.py")))
    found = {number for name in names for number in re.findall(r"(?<=_)([A-Z]\d+)(?=_)", name)}
    if any(name.startswith("test_S1_to_S10") for name in names):
        found |= {f"S{k}" for k in range(1, 11)}
    return {number for number in found if not number.startswith("T")}  # T: the traps that other libraries fell into


def test_each_claim_is_stated_once_proven_once_and_tested():
    stated, proven = numbers(STATED, "src", ".py"), numbers(PROVEN, "docs/explanation", ".md")
    assert len(stated) == len(set(stated))
    assert len(proven) == len(set(proven))
    assert set(stated) == set(proven) == claims_tested()
