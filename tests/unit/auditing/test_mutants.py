"""The faults that the audit must flag: the whole score is `make mutants`."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapwing.auditing.audit import CHECKS
from lapwing.auditing.finding import NoSuchPart
from lapwing.auditing.room import Room

from ...mutants import MUTANTS, commit, flagged, main, part_of


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


def test_the_parts_of_a_commit_are_all_mutants_and_another_commit_has_others():
    faults = [each.fault for each in MUTANTS]
    parts = [part_of(faults, each, 4, "a" * 40) for each in (1, 2, 3, 4)]
    assert sorted(fault for part in parts for fault in part) == sorted(faults)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert part_of(reversed(faults), 1, 4, "a" * 40) == parts[0] != part_of(faults, 1, 4, "b" * 40)


def test_over_many_commits_every_mutant_is_run():
    faults = {each.fault for each in MUTANTS}
    assert set().union(*(part_of(faults, 1, 4, f"{number:040x}") for number in range(60))) == faults


def test_a_commit_has_forty_digits_or_the_package_stands_for_it(monkeypatch):
    assert re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", commit())
    monkeypatch.setenv("PATH", "")
    assert re.fullmatch("[0-9a-f]{64}", commit())


@pytest.mark.parametrize("part", ["2", "0/4", "5/4", "1/0", "a/b"])
def test_a_part_that_is_none_is_refused(part):
    found = CliRunner().invoke(main, ["--part", part])
    assert found.exit_code == 2
    assert "1/4" in found.output
