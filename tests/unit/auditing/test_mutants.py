"""The faults that the audit must flag: the whole score is `make mutants`."""

import re
from pathlib import Path

import pytest

from lapwing.auditing.audit import CHECKS
from lapwing.auditing.finding import NoSuchPart
from lapwing.auditing.room import Room

from ...mutants import MUTANTS, flagged


def test_the_readme_says_how_many_there_are():
    told = (Path(__file__).parents[3] / "README.md").read_text()
    assert f"tried on {len(MUTANTS)} builds" in told


def test_there_are_enough_faults_and_each_stands_for_a_trap():
    assert len({each.fault for each in MUTANTS}) == len(MUTANTS) >= 25
    assert all(re.fullmatch(r"(T\d+ ?)+", each.traps) for each in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.fault)
def test_a_fault_fits_one_place_of_the_code_and_has_a_part_of_a_check(mutant, tmp_path):
    compile(mutant.broken(), mutant.file, "exec")
    check, _, part = mutant.check.partition("/")
    with pytest.raises(NoSuchPart) as known:
        next(CHECKS[check].check(Room(tmp_path, part="none")))
    assert part in ("", *known.value.names)


@pytest.mark.parametrize("fault", ["the tails of the noise are cut", "the key of the noise is always the same"])
def test_a_quick_fault_is_flagged(fault):
    (mutant,) = (each for each in MUTANTS if each.fault == fault)
    found = flagged(mutant, mutant.check)
    assert found.seen, found.told


def test_the_build_as_it_is_is_not_flagged():
    found = flagged(None, "sampler/tails")
    assert not found.seen
    assert found.told == "nothing"
