"""The bounds that the audit certifies, against scipy and by going through all outcomes."""

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lapwing as lw
from lapwing.auditing.audit import MOST_FALSE_ALARMS
from lapwing.auditing.checks import bound
from lapwing.auditing.checks.coverage import coverage
from lapwing.auditing.checks.sampler import sampler
from lapwing.auditing.checks.timing import timing
from lapwing.auditing.finding import ALPHA
from lapwing.auditing.room import Room
from lapwing.auditing.tools.certify import certified_epsilon, least_share, most_share
from lapwing.auditing.tools.even import Even, even_law
from lapwing.auditing.tools.script import Race
from lapwing.errors import InvalidParameter
from lapwing.noise.sampler import discrete_laplace

ALPHAS = [0.5, 0.05, 1e-3, 5e-10, 1e-12]
SIZES = [1, 2, 7, 100, 4321, 10**5, 10**7, 10**8]


def cases(n):
    wanted = [0, 1, 2, n // 1000, n // 10, n // 3, n // 2, n - n // 20, n - 2, n - 1, n]
    return sorted({k for k in wanted if 0 <= k <= n})


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", SIZES)
def test_C1_the_ends_are_those_of_the_beta_law_and_on_their_safe_side(n, alpha):
    for k in cases(n):
        low = stats.beta.ppf(alpha, k, n - k + 1) if k else 0.0
        high = stats.beta.isf(alpha, k + 1, n - k) if k < n else 1.0
        assert least_share(k, n, alpha) == pytest.approx(low, rel=1e-7 if n < 10**8 else 1e-6)
        assert most_share(k, n, alpha) == pytest.approx(high, rel=1e-7 if n < 10**8 else 1e-6)
        if alpha >= 1e-3:  # scipy's own error is below this here
            assert least_share(k, n, alpha) <= low * (1 + 1e-11)
            assert most_share(k, n, alpha) >= high * (1 - 1e-11)


def mass(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@given(st.integers(1, 40), st.data(), st.floats(1e-12, 0.5))
def test_C1_the_tails_at_the_ends_are_at_most_alpha_exactly(n, data, alpha):
    k = data.draw(st.integers(0, n))
    low, high = Fraction(least_share(k, n, alpha)), Fraction(most_share(k, n, alpha))
    assert k == 0 or sum(mass(i, n, low) for i in range(k, n + 1)) <= Fraction(alpha)
    assert k == n or sum(mass(i, n, high) for i in range(k + 1)) <= Fraction(alpha)


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_C1_each_end_is_wrong_with_probability_at_most_alpha_exactly(n, alpha):
    low = [Fraction(least_share(k, n, alpha)) for k in range(n + 1)]
    high = [Fraction(most_share(k, n, alpha)) for k in range(n + 1)]
    for p in {*(Fraction(i, 50) for i in range(51)), *low, *high}:
        for wrong in ([k for k in range(n + 1) if low[k] > p], [k for k in range(n + 1) if high[k] < p]):
            assert sum((mass(k, n, p) for k in wrong), Fraction(0)) <= Fraction(alpha)


@pytest.mark.parametrize("delta", [0, Fraction(1, 20)])
@pytest.mark.parametrize(("p", "q"), [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2)), (1, 0)])
def test_C1_the_bound_is_above_the_true_epsilon_with_probability_at_most_alpha_exactly(p, q, delta):
    n, alpha = 14, 0.2
    truth = math.inf if q == 0 else math.log((p - delta) / q) if p - delta > q else 0.0
    wrong = Fraction(0)
    for k in range(n + 1):
        for other in range(n + 1):
            if certified_epsilon(k, n, other, n, alpha, delta) > truth:
                wrong += mass(k, n, p) * mass(other, n, q)
    assert wrong <= Fraction(alpha)


def test_C1_a_bound_is_the_logarithm_of_the_ends_and_never_negative():
    ends = stats.beta.ppf(5e-3, 731, 1000 - 731 + 1), stats.beta.isf(5e-3, 269 + 1, 1000 - 269)
    assert certified_epsilon(731, 1000, 269, 1000, 0.01) == pytest.approx(math.log(ends[0] / ends[1]), rel=1e-9)
    assert certified_epsilon(731, 1000, 269, 1000, 0.01, 0.1) == pytest.approx(
        math.log((ends[0] - 0.1) / ends[1]), rel=1e-9
    )
    assert certified_epsilon(269, 1000, 731, 1000, 0.01) == 0
    assert certified_epsilon(0, 0, 0, 0, 0.01) == 0
    assert certified_epsilon(1000, 1000, 0, 1000, 0.01, Fraction(999, 1000)) == 0


@pytest.mark.parametrize("given", [(2, 1, 0.1), (-1, 1, 0.1), (0, -1, 0.1), (1, 2, 0.0), (1, 2, 0.6), (1, 2, math.nan)])
def test_C1_what_is_no_count_and_no_probability_is_refused(given):
    for share in (least_share, most_share):
        with pytest.raises(InvalidParameter):
            share(*given)
    with pytest.raises(InvalidParameter):
        certified_epsilon(1, 2, 1, 2, 0.1, -0.1)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)])
def test_C2_evenly_laid_out_words_have_the_law_up_to_one_part_for_every_number_of_them(scale):
    for n in range(1, 301):
        x = discrete_laplace(scale, n, entropy=Even()).tolist()
        law = lw.DiscreteLaplace(scale)
        for k in {*x, *(each - 1 for each in x)}:
            assert abs(sum(each <= k for each in x) / n - law.cdf(k)) <= (1 + 1e-9) / n


@pytest.mark.parametrize("wrong", [Fraction(999, 1000), Fraction(1001, 1000)])
def test_C2_a_scale_that_is_a_thousandth_off_is_seen(wrong):
    drawn = discrete_laplace(10 * wrong, 2**16, entropy=Even())
    assert even_law("noise", drawn, 10 * wrong).passed
    assert not even_law("noise", drawn, Fraction(10)).passed


def test_C4_the_false_alarms_of_all_findings_add_up_to_less_than_a_millionth(tmp_path):
    room = Room(tmp_path)
    drawn = {
        "sampler": sampler(room),
        "coverage": coverage(room, 2_000),
        "timing": timing(room, 600),
        "bound": bound.findings(room, 0.02),
    }
    found = {name: sum(each.false_alarm for each in findings) for name, findings in drawn.items()}
    found["laws"] = 2 * ALPHA
    found["canary"] = 1e-12
    assert sum(found.values()) < 2e-7 < MOST_FALSE_ALARMS
    told = (Path(__file__).parents[2] / "docs" / "explanation" / "audit.md").read_text()
    for name, alpha in (("coverage", "1.62·10^-7"), ("timing", "8·10^-9"), ("bound", "1.1·10^-8"), ("laws", "2·10^-9")):
        assert re.search(rf"\| `{name}` \|.*\| {re.escape(alpha)} \|", told)
        assert found[name] == pytest.approx(float(alpha.replace("·10^", "e")))


def test_C5_a_shift_of_the_noise_costs_its_distance_over_the_scale():
    """All small noises of two draws: the ratio of probabilities is at most e^κ, and for some noise it is e^κ."""
    scales, shift = (Fraction(2), Fraction(7, 3)), (3, -4)
    cost = float(sum(abs(d) / s for d, s in zip(shift, scales, strict=True)))
    laws = [lw.DiscreteLaplace(s) for s in scales]
    ratios = [
        math.prod(law.pmf(z) / law.pmf(z + d) for law, z, d in zip(laws, noise, shift, strict=True))
        for noise in product(range(-12, 13), repeat=2)
    ]
    assert max(ratios) == pytest.approx(math.exp(cost), rel=1e-12)
    seen = Race((0, 4), (1, 1), Fraction(1, 2)), Race((3, 4), (1, 1), Fraction(1, 2))
    assert seen[0].cost(seen[1]) == Fraction(3, 2)
