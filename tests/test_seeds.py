"""The page of the seeds: its blocks run, its numbers are compared, and what needs more than a line is checked here."""

import doctest
import io
import math
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path
from statistics import median, median_low, stdev
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import lapwing as lw

PAGE = (Path(__file__).parents[1] / "docs" / "explanation" / "seeds.md").read_text(encoding="utf-8")

HEADING = re.compile(r"^(##|###) (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d,_]*(?:\.\d+)?")
MISTAKES = "Where a seed is wrong or loose"


# The page runs.


class Section(NamedTuple):
    level: int
    title: str
    body: str
    line: int


def sections(page: str) -> list[Section]:
    heads = list(HEADING.finditer(page))
    ends = [head.start() for head in heads[1:]] + [len(page)]
    return [
        Section(len(head[1]), head[2], page[head.end() : end], page.count("\n", 0, head.end()))
        for head, end in zip(heads, ends, strict=True)
    ]


class Outcome(NamedTuple):
    reports: dict[str, str]  # by title, of the sections with a failure
    failed: int
    attempted: int


@cache
def run(page: str) -> Outcome:
    """Run all blocks of a page in order and in one namespace."""
    names: dict[str, object] = {}
    reports, failed, attempted = {}, 0, 0
    for section in sections(page):
        out = io.StringIO()
        for block in BLOCK.finditer(section.body):
            line = section.line + section.body.count("\n", 0, block.start(1))
            test = doctest.DocTestParser().get_doctest(block[1], names, section.title, "seeds.md", line)
            test.globs = names  # DocTest made a copy
            result = doctest.DocTestRunner(verbose=False).run(test, out=out.write, clear_globs=False)
            failed, attempted = failed + result.failed, attempted + result.attempted
        if out.getvalue():
            reports[section.title] = out.getvalue()
    return Outcome(reports, failed, attempted)


def titles_with_code() -> list[str]:
    return [section.title for section in sections(PAGE) if BLOCK.search(section.body)]


@pytest.mark.parametrize("title", titles_with_code())
def test_every_number_of_the_section_is_what_the_software_gives(title):
    assert run(PAGE).reports.get(title, "") == ""


def test_titles_are_distinct_so_that_a_failure_names_its_section():
    assert max(Counter(section.title for section in sections(PAGE)).values()) == 1


def test_a_wrong_number_fails_its_section_and_no_other():
    wrong = PAGE.replace("(181.1, 172.6)", "(181.1, 172.7)")
    assert wrong != PAGE
    assert set(run(wrong).reports) == {"Exercise 1.5: the counties"}


def test_each_expected_output_is_compared_to_its_last_digit():
    outputs = [
        example.want for block in BLOCK.finditer(PAGE) for example in doctest.DocTestParser().get_examples(block[1])
    ]
    assert run(PAGE).attempted == len(outputs)
    assert run(BLOCK.sub(spoiled, PAGE)).failed == sum(bool(re.search(r"\d", want)) for want in outputs)


def spoiled(block: re.Match[str]) -> str:
    """Return the block with the last digit of each line of output changed."""

    def spoil(line: str) -> str:
        found = None if line.startswith((">>>", "...", "```")) else re.fullmatch(r"(.*)(\d)(\D*)", line)
        return f"{found[1]}{(int(found[2]) + 1) % 10}{found[3]}" if found else line

    return "\n".join(spoil(line) for line in block[0].split("\n"))


def test_every_number_in_the_prose_stands_in_a_block_of_its_chapter():
    names = (
        r"\]\([^)]*\)|seed[s]? 00\d|Seed 00\d|\b00[0-4]\b|(?i:exercise|lemma|theorem|definition) 1\.\d|Algorithm 1\b"
        r"|(?i:figure) 1\b|[Ll]ecture 1\b|part [12]|equation 3|\bL1\b|claim S\d+|Mironov 2012|\*\*Row \d+\.\*\*"
        r"|^Rows \d+ (?:to|and) \d+|^\| \d+ \|"
    )
    chapters: list[list[str]] = []
    for section in sections(PAGE):
        if section.level == 2:
            chapters.append([])
        chapters[-1].append(f"{section.title}\n{section.body}")
    for chapter in map("\n".join, chapters):
        computed = numbers("\n".join(block[1] for block in BLOCK.finditer(chapter)))
        prose = re.sub(names, " ", BLOCK.sub(" ", chapter), flags=re.MULTILINE)
        assert numbers(prose) - computed == set(), chapter.split("\n")[0]


def numbers(text: str) -> set[float]:
    return {float(re.sub("[,_]", "", found)) for found in NUMBER.findall(text)}


def test_every_row_of_the_table_of_mistakes_has_its_block():
    chapter = PAGE.split(f"## {MISTAKES}")[1]
    rows = re.findall(r"^\| (\d+) \|", chapter, re.MULTILINE)
    parts = re.split(r"\*\*Row (\d+)\.\*\*", chapter)
    assert rows == [str(k) for k in range(1, len(rows) + 1)] == parts[1::2]
    assert all(BLOCK.search(part) for part in parts[2::2])


# Seed 000: density, sliding property, definition, theorem.

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2)]
GRID = [Fraction(k, 64) for k in range(-64 * 5, 64 * 5 + 1)]


def exponent(y, answer, other, scale):
    """Return the logarithm of the ratio of two densities at y, exactly."""
    return (abs(y - other) - abs(y - answer)) / scale


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_the_density_has_area_1_mean_0_mean_size_b_and_variance_2b2(scale):
    law = lw.Laplace(scale)

    def integral(f):
        return sum(integrate.quad(f, *ends, epsabs=1e-13)[0] for ends in ((-np.inf, 0), (0, np.inf)))

    assert integral(law.pdf) == pytest.approx(1)
    assert integral(lambda x: x * law.pdf(x)) == pytest.approx(law.mean, abs=1e-12)
    assert integral(lambda x: abs(x) * law.pdf(x)) == pytest.approx(law.mean_abs) == pytest.approx(float(scale))
    assert integral(lambda x: x * x * law.pdf(x)) == pytest.approx(law.variance) == pytest.approx(float(2 * scale**2))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_density_ratio_is_within_e_to_epsilon_at_every_output_and_attains_it(epsilon):
    for delta in (Fraction(1), Fraction(1, 2), Fraction(-1), Fraction(0)):
        scale = lw.LaplaceMechanism(1, epsilon).scale
        found = [exponent(y, Fraction(0), delta, scale) for y in GRID]
        assert max(found) == epsilon * abs(delta) == -min(found)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_software_has_these_density_ratios(epsilon):
    law = lw.Laplace(lw.LaplaceMechanism(1, epsilon).scale)
    for y in GRID:
        ratio = law.pdf(float(y)) / law.pdf(float(y - 1))
        assert ratio == pytest.approx(math.exp(exponent(y, 0, 1, law.scale)), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_ratio_of_integers_is_within_e_to_epsilon_and_attains_it(epsilon):
    noise = lw.LaplaceMechanism(3, epsilon).integer_noise
    found = [exponent(y, 0, 3, noise.scale) for y in range(-50, 51)]
    assert max(found) == epsilon == -min(found)
    for y in range(-9, 10):
        assert noise.pmf(y) / noise.pmf(y - 3) == pytest.approx(math.exp(exponent(y, 0, 3, noise.scale)), rel=1e-12)


def test_a_bound_at_each_point_holds_for_all_sets():
    noise = lw.DiscreteLaplace(1)

    def masses(answer):  # of the outputs ≤ -4, -3, …, 4 and ≥ 5
        inner = [noise.pmf(y - answer) for y in range(-3, 5)]
        return np.array([noise.cdf(-4 - answer), *inner, 1 - noise.cdf(4 - answer)])

    chosen = np.array(list(product([0, 1], repeat=10)))[1:]
    ratios = (chosen @ masses(0)) / (chosen @ masses(1))
    assert ratios.max() == pytest.approx(math.e)
    assert ratios.min() == pytest.approx(1 / math.e)


@given(st.data())
def test_the_ratio_of_vectors_is_within_e_to_epsilon(data):
    cells = data.draw(st.integers(1, 5))
    vectors = st.lists(st.fractions(-9, 9, max_denominator=64), min_size=cells, max_size=cells)
    y, centre, shift = (data.draw(vectors) for _ in range(3))
    norm = sum(map(abs, shift))
    epsilon = data.draw(st.sampled_from(EPSILONS))
    if norm:
        scale = lw.LaplaceMechanism(norm, epsilon).scale
        total = sum(exponent(a, m, m + s, scale) for a, m, s in zip(y, centre, shift, strict=True))
        assert -epsilon <= total <= epsilon


def test_a_vector_attains_the_bound():
    scale = lw.LaplaceMechanism(2, 1).scale
    assert sum(exponent(y, m, other, scale) for y, m, other in ((150, 120, 119), (80, 80, 80), (10, 40, 41))) == 1


# Seed 001: Charles, Chebyshev, minimum and maximum, the wrong bound 1 + ε.


@given(st.lists(st.integers(30, 150), min_size=2, max_size=9))
def test_an_exact_average_reveals_the_last_person_to_the_others(weights):
    assert len(weights) * Fraction(sum(weights), len(weights)) - sum(weights[:-1]) == weights[-1]


@pytest.mark.parametrize("k", [Fraction(j, 4) for j in range(1, 41)])
def test_chebyshev_is_never_below_the_true_probability(k):
    law = lw.Laplace("1.2")
    truth = law.tail(float(k) * law.std)
    assert truth == pytest.approx(math.exp(-float(k) * math.sqrt(2)))
    assert truth <= lw.LaplaceMechanism("0.12", "0.1").error.chebyshev(k)


@pytest.mark.parametrize("n", [4, 1000])
def test_one_person_among_n_moves_minimum_and_maximum_over_the_whole_range(n):
    high, low = [150] * n, [30] * n
    assert min(high) - min([30, *high[1:]]) == lw.sensitivity.minimum(30, 150, neighbors="change_one") == 120
    assert max([150, *low[1:]]) - max(low) == lw.sensitivity.maximum(30, 150, neighbors="change_one") == 120


@pytest.mark.parametrize("nano", [1, 10**3, 10**6, 10**8, 10**9, 10**10])
def test_1_plus_epsilon_is_exceeded_for_every_epsilon_and_1_minus_epsilon_never_undercut(nano):
    epsilon = Fraction(nano, 10**9)
    scale = lw.LaplaceMechanism(30, epsilon).scale
    assert exponent(0, 60, 90, scale) == epsilon == -exponent(150, 60, 90, scale)
    assert math.expm1(epsilon) > epsilon  # e^ε > 1 + ε
    assert -math.expm1(-epsilon) <= epsilon  # e^(-ε) ≥ 1 - ε


# Seed 002: norms and histograms, lemma 1.4, the exercises.


@pytest.mark.parametrize(("neighbors", "expected"), [("change_one", 2), ("add_remove", 1)])
def test_no_neighbor_moves_a_histogram_further_and_one_moves_it_as_far(neighbors, expected):
    bins = range(3)
    found = max(
        sum(abs(table.count(b) - other.count(b)) for b in bins)
        for n in range(1, 5)
        for table in product(range(4), repeat=n)  # 3 is in no bin
        for other in ([(*table[:-1], b) for b in range(4)] if neighbors == "change_one" else [table[:-1]])
    )
    assert found == expected == lw.sensitivity.histogram(neighbors=neighbors)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 100, 3143])
def test_lemma_1_4_the_mean_of_the_largest_error_is_the_area_under_its_tail(d):
    def tail(x):
        return -math.expm1(d * math.log1p(-math.exp(-x))) if x > 0 else 1.0

    error = lw.LaplaceMechanism(1, 1).error
    knots = [0, math.log(d), math.log(d) + 5, math.log(d) + 60]
    area = sum(integrate.quad(tail, *ends, epsabs=1e-12)[0] for ends in pairwise(knots))
    assert area == pytest.approx(error.max_mean(d), rel=1e-9)
    assert area == pytest.approx(float(sum(Fraction(1, k) for k in range(1, d + 1))), rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 100, 3143])
def test_exercise_1_7_the_union_bound_has_the_area_of_the_lemma(d):
    def union(x):
        return min(1.0, d * math.exp(-x))

    area = math.log(d) + integrate.quad(union, math.log(d), np.inf, epsabs=1e-12)[0]
    error = lw.LaplaceMechanism(1, 1).error
    assert all(union(float(x)) == 1 for x in np.linspace(0, math.log(d) * (1 - 1e-12), 50))
    assert area == pytest.approx(error.max_mean_bound(d), rel=1e-9)
    assert error.max_mean(d) <= error.max_mean_bound(d)


@pytest.mark.parametrize("d", [1, 2, 10, 3143])
def test_lemma_1_4_the_tail_of_the_largest_error_is_below_its_bound(d):
    error, law = lw.LaplaceMechanism(2, "0.1").error, lw.Laplace(20)
    for t in (0.0, 0.25, 1.0, 3.0, 10.0):
        exact = 1 - (1 - law.tail(20 * (math.log(d) + t))) ** d
        assert error.max_tail(d, t) == pytest.approx(exact, rel=1e-9)
        assert error.max_tail(d, t) <= math.exp(-t) * (1 + 1e-12)


def test_the_maximum_of_errors_by_inclusion_and_exclusion_has_harmonic_mean():
    rates = [Fraction(1)] * 6  # E max = Σ over nonempty sets A of (-1)^(|A| + 1)/Σ rates
    mean = sum(Fraction((-1) ** (k + 1)) / sum(a) for k in range(1, 7) for a in combinations(rates, k))
    assert mean == sum(Fraction(1, k) for k in range(1, 7)) == Fraction(49, 20)
    assert lw.LaplaceMechanism(1, 1).error.max_mean(6) == pytest.approx(2.45)


def response_variance(epsilon):
    return math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_randomized_response_is_unbiased_with_the_stated_error_whatever_the_bits(epsilon, n):
    flip = 1 - lw.DiscreteLaplace(1 / Fraction(str(epsilon))).cdf(0)
    assert flip == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-12)
    answers = list(product([0, 1], repeat=n))
    estimates = [lw.randomized_response.estimate(answer, epsilon) for answer in answers]
    for truth in product([0, 1], repeat=n):
        flips = [sum(a != b for a, b in zip(truth, answer, strict=True)) for answer in answers]
        chances = [flip**k * (1 - flip) ** (n - k) for k in flips]
        share = sum(truth) / n
        errors = [estimate.value - share for estimate in estimates]
        assert math.fsum(chances) == pytest.approx(1)
        assert math.fsum(p * e for p, e in zip(chances, errors, strict=True)) == pytest.approx(0, abs=1e-12)
        variance = math.fsum(p * e * e for p, e in zip(chances, errors, strict=True))
        assert variance == pytest.approx(response_variance(epsilon) / n, rel=1e-9)
        assert math.sqrt(variance) == pytest.approx(estimates[0].rms, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 4])
@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.003])
def test_exercise_1_6_the_size_is_the_smallest_that_will_do(alpha, epsilon):
    def laplace(n):
        return math.sqrt(2) / (n * epsilon)

    def response(n):
        return math.sqrt(response_variance(epsilon) / n)

    for name, rms in (("laplace", laplace), ("randomized_response", response)):
        n = lw.size_for(alpha, epsilon, name)
        assert rms(n) < alpha
        assert n == 1 or rms(n - 1) > alpha


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1])
def test_exercise_1_6_halving_doubles_or_quadruples_the_size(epsilon):
    def size(alpha, eps, name):
        return lw.size_for(alpha, eps, name) / lw.size_for("0.001", epsilon, name)

    assert size("0.0005", epsilon, "laplace") == pytest.approx(2, rel=1e-3)
    assert size("0.001", epsilon / 2, "laplace") == pytest.approx(2, rel=1e-3)
    assert size("0.0005", epsilon, "randomized_response") == pytest.approx(4, rel=1e-3)
    assert size("0.001", epsilon / 2, "randomized_response") == pytest.approx(4, rel=1e-3)


@pytest.mark.parametrize("n", [3, 10, 1000])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
def test_integer_noise_on_a_count_beats_randomized_response_by_the_root_of_2_over_n(n, epsilon):
    integer = lw.DiscreteLaplace(1 / Fraction(epsilon)).std / n
    response = lw.randomized_response.estimate([0] * n, epsilon).rms
    assert integer / response == pytest.approx(math.sqrt(2 / n), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_real_noise_beats_randomized_response_from_the_stated_size_on(epsilon):
    crossing = 8 * math.sinh(epsilon / 2) ** 2 / epsilon**2
    for n in (math.floor(crossing), math.floor(crossing) + 1):
        real = lw.LaplaceMechanism(Fraction(1, n), epsilon).error.rms
        assert (real < lw.randomized_response.estimate([0] * n, epsilon).rms) == (n > crossing)


@pytest.mark.parametrize("n", [4, 1000])
def test_at_epsilon_1_over_n_the_best_guess_between_opposite_tables_keeps_the_bound(n):
    law = lw.Laplace(lw.LaplaceMechanism(Fraction(1, n), Fraction(1, n)).scale)
    assert law.scale == 1
    overlap = integrate.quad(lambda y: min(law.pdf(y), law.pdf(y - 1)), -40, 41, points=[0, 0.5, 1])[0]
    success = 1 - overlap / 2
    assert success == pytest.approx(law.cdf(0.5), rel=1e-9)
    assert 0.5 < success <= math.e / (1 + math.e)


# Seed 003: the four sensitivities, which side of the output, sums over sets.

VALUES = (Fraction(0), Fraction(1, 2), Fraction(1))


def largest_change(statistic, n, neighbors="change_one"):
    """Return how far ``statistic`` moves between neighbors of n rows with values 0, 1/2 and 1."""
    return max(
        abs(statistic(table) - statistic(other))
        for table in product(VALUES, repeat=n)
        for other in ([(*table[:-1], v) for v in VALUES] if neighbors == "change_one" else [table[:-1]])
    )


def mean(table):
    return sum(table, Fraction(0)) / len(table) if table else Fraction(1, 2)


def deviation(table):
    return math.sqrt(sum((x - mean(table)) ** 2 for x in table) / len(table))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_four_sensitivities_by_trying_all_neighbors(n):
    of = lw.sensitivity
    assert largest_change(mean, n) == of.mean(0, 1, n, neighbors="change_one") == Fraction(1, n)
    assert largest_change(deviation, n) == pytest.approx(float(of.std(0, 1, n, neighbors="change_one")), rel=1e-12)
    assert float(of.std(0, 1, n, neighbors="change_one")) == pytest.approx(math.sqrt(n - 1) / n, rel=1e-12)
    assert largest_change(max, n) == of.maximum(0, 1, neighbors="change_one") == 1
    assert largest_change(min, n) == of.minimum(0, 1, neighbors="change_one") == 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_standard_deviation_that_divides_by_n_minus_1_has_sensitivity_1_over_root_n(n):
    assert largest_change(lambda t: stdev(map(float, t)), n) == pytest.approx(1 / math.sqrt(n), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_median_moves_by_1_or_by_a_half_when_two_middle_values_are_averaged(n):
    assert largest_change(median_low, n) == 1 == lw.sensitivity.median(0, 1, neighbors="change_one")
    assert largest_change(median, n) == (1 if n % 2 else Fraction(1, 2))


def test_the_distances_differ_most_exactly_when_both_answers_are_on_one_side():
    for o in GRID:
        between = 0 < o < 1
        assert (abs(abs(1 - o) - abs(0 - o)) == 1) == (not between)


@given(st.sets(st.integers(-30, 30), min_size=1), st.integers(1, 3))
def test_sums_over_any_set_of_integers_keep_the_bound(outcomes, shift):
    noise = lw.DiscreteLaplace(3)
    ratio = math.fsum(noise.pmf(o) for o in outcomes) / math.fsum(noise.pmf(o - shift) for o in outcomes)
    assert math.exp(-shift / 3) * (1 - 1e-12) <= ratio <= math.exp(shift / 3) * (1 + 1e-12)


# Seed 004: add or remove, the private n, the shift, and floating point.


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_adding_or_removing_a_row_moves_the_mean_by_at_most_half_the_range(n):
    found = largest_change(mean, n, "add_remove")
    assert found == (Fraction(1, n) if n > 1 else Fraction(1, 2))  # the empty table counts as the middle
    assert found <= lw.sensitivity.mean(0, 1, neighbors="add_remove") == Fraction(1, 2)


@pytest.mark.parametrize("bound", [1, 10, 100])
def test_noise_whose_scale_depends_on_a_private_n_has_no_epsilon(bound):
    three, four = (lw.LaplaceMechanism(lw.sensitivity.mean(0, 1, n, neighbors="change_one"), 1).scale for n in (3, 4))
    y = bound + 1  # the ratio of the densities is 3/4·e^y
    assert y / four - y / three + math.log(four / three) > bound


@given(*[st.floats(-3, 3)] * 3, st.floats(0.1, 3))
def test_the_set_of_the_proof_is_shifted_by_the_first_answer_minus_the_second(first, second, low, width):
    law = lw.Laplace(1)
    moved = low - first  # O is the outputs from low to low + width, O′ begins here
    on_second = law.cdf(low + width - second) - law.cdf(low - second)
    shifted = law.cdf(moved + (first - second) + width) - law.cdf(moved + (first - second))
    assert on_second == pytest.approx(shifted, rel=1e-9)
    assert law.cdf(moved + width) - law.cdf(moved) <= math.exp(abs(first - second)) * shifted * (1 + 1e-9)


@given(st.floats(-1.5, -0.5))
def test_near_0_the_answer_1_plus_float_noise_is_a_multiple_of_2_to_the_minus_53(noise):
    assert ((1.0 + noise) * 2**53).is_integer()


def test_more_than_half_of_the_float_outputs_near_0_could_not_come_from_the_answer_1():
    first, last = math.ceil(math.exp(-0.5) * 2**53), 2**53
    outputs = [-math.log(k / 2**53) for k in range(first, last, (last - first) // 10_000)]
    assert all(0 < y <= 0.5 for y in outputs)
    assert sum(not (y * 2**53).is_integer() for y in outputs) > len(outputs) / 2


@given(st.floats(-1000, 1000), st.floats(-1, 1), st.sampled_from(EPSILONS))
def test_on_the_grid_neighbors_are_at_most_epsilon_times_the_scale_apart(value, move, epsilon):
    grid = lw.LaplaceMechanism(1, epsilon).grid()
    step = Fraction(grid.step)
    other = value + move
    if abs(Fraction(other) - Fraction(value)) <= 1:
        apart = abs(round(Fraction(value) / step) - round(Fraction(other) / step))
        assert apart / grid.scale <= epsilon


@pytest.mark.parametrize("answer", [0.0, 1.0, 0.1, math.pi])
def test_every_release_is_a_multiple_of_the_step_whatever_the_answer(answer):
    mechanism = lw.LaplaceMechanism(1, 1)
    released = mechanism.release(np.full(1000, answer))
    assert np.all(released % mechanism.grid(1000).step == 0)
