"""What the audit of a mechanism shows: of broken ones that they are, of correct ones no more than is true.

A bound above the true ε has probability at most 1e-9, by claim C1 at the confidence SURE.  How much is shown is looked
at with frozen noise: the limits are seven standard deviations and more below what the bound is on average, both stated
where it is not obvious.
"""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from lapwing.auditing.mechanisms import audit_mechanism
from lapwing.auditing.tools.events import ZERO, power_of_two
from lapwing.auditing.tools.outputs import Words, _of_list
from lapwing.errors import InvalidEpsilon, InvalidParameter, InvalidRequest

SURE = "0.999999999"
BATCH = 100_000


def audit(m, x, y, epsilon=1, **asked):
    return audit_mechanism(m, x, y, epsilon, **{"batch": BATCH, "draws": 100_000, "confidence": SURE, **asked})


def one_by_one(m, x, y, epsilon=1, **asked):
    return audit_mechanism(m, x, y, epsilon, **{"draws": 4000, "confidence": SURE, **asked})


def integers(scale):
    return lambda x: x + lw.discrete_laplace(scale, BATCH)


@pytest.mark.usefixtures("frozen_noise")
def test_the_laplace_noise_of_numpy_is_broken_by_the_multiples_that_its_outputs_are():
    random = np.random.default_rng()
    found = audit(lambda x: x + random.laplace(scale=1, size=BATCH), 0.0, 1.0)
    assert found.bound >= 5  # 6.8 ± 0.01
    assert not found.holds
    assert found.event == "output is no multiple of 2^-53"
    assert found.likelier == "x"
    assert found.counts[1] == 0
    assert found.draws == 75_000


@pytest.mark.parametrize(("x", "y"), [(0, 1), (0.0, 1.0), (0.1, 1.1), (2.0**20, 2.0**20 - 1)])
def test_the_laplace_mechanism_holds(x, y):
    assert audit(lambda v: lw.laplace(np.full(BATCH, v), sensitivity=1, epsilon=1), x, y).holds


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize(("x", "y"), [(0, 1), (0.0, 1.0), (0.1, 1.1), (2.0**20, 2.0**20 - 1)])
def test_most_of_the_epsilon_of_the_laplace_mechanism_is_shown(x, y):
    found = audit(lambda v: lw.laplace(np.full(BATCH, v), sensitivity=1, epsilon=1), x, y)
    assert 0.8 <= found.bound <= 1  # 0.93 ± 0.01


@pytest.mark.usefixtures("frozen_noise")
def test_one_output_at_a_time_holds_too():
    assert 0.5 <= one_by_one(lambda v: lw.laplace(v, sensitivity=1, epsilon=1), 0, 1).bound <= 1  # 0.76 ± 0.03
    assert 0.3 <= one_by_one(lambda v: lw.laplace(v, sensitivity=1, epsilon=1), 0.0, 1.0).bound <= 1  # 0.66 ± 0.05


@pytest.mark.usefixtures("frozen_noise")
def test_the_bound_of_integer_noise_is_tight_at_ten_million_draws():
    found = audit(lambda x: x + lw.discrete_laplace(1, 10**6), 0, 1, batch=10**6, draws=10**7)
    assert 0.95 <= found.bound <= 1  # 0.994 ± 0.001


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("draws", [4 * 10**5, 10**7])
def test_a_scale_5_percent_too_small_is_caught(draws):
    found = audit(lambda x: x + lw.discrete_laplace("0.95", 10**5), 0, 1, draws=draws)
    assert 1 < found.bound <= 1 / 0.95  # 1.027 ± 0.0036 with 4·10^5
    assert not found.holds


def shared(x):
    return np.array(x) + lw.discrete_laplace(2, (BATCH, 1))


@pytest.mark.usefixtures("frozen_noise")
def test_one_noise_for_two_cells_is_caught():
    found = audit(shared, (0, 0), (1, 0))
    assert found.bound > 7
    assert found.event in ("output 1 - output 2 ≥ 1", "outputs 1 and 2 are equal", "output 1 - output 2 ≤ 0")


@pytest.mark.usefixtures("frozen_noise")
def test_independent_noise_in_two_cells_holds_and_their_sum_tells_most():
    found = audit(lambda x: np.array(x) + lw.discrete_laplace(2, (BATCH, 2)), (0, 0), (1, 1))
    assert 0.5 < found.bound <= 1
    assert "sum of the outputs" in found.event


@pytest.mark.usefixtures("frozen_noise")
def test_noise_that_depends_on_the_number_of_rows_is_caught():
    """The mean of n values in [0, 1], with the scale 1/n of a public n, on 1 row and 2."""
    random = np.random.default_rng()

    def mean(rows):
        return np.mean(rows) + random.laplace(scale=1 / len(rows), size=10**5)

    assert audit(mean, [0.0], [0.0] * 2, draws=10**6).bound > 2  # 3.6 ± 0.14


@pytest.mark.usefixtures("frozen_noise")
def test_a_threshold_off_by_one_is_caught():
    """A key is shown from 3 on where δ needs 4: one person is then seen with probability P(X ≥ 2)."""
    law = lw.DiscreteLaplace(1)
    delta = law.cdf(-3)

    def shown(threshold):
        return lambda people: (lw.discrete_laplace(1, BATCH) + people >= threshold) & (people > 0)

    assert audit(shown(4), 0, 1, delta=delta * 1.0001).holds
    assert audit(shown(3), 0, 1, delta=delta * 1.0001).bound > 3


@pytest.mark.usefixtures("frozen_noise")
def test_an_exception_is_an_output():
    def refuses(x):
        if x == 1:
            raise ValueError("too large")
        return x + lw.discrete_laplace(1)

    found = one_by_one(refuses, 0, 1)
    assert found.event == "raises ValueError"
    assert (found.likelier, found.counts) == ("y", (3000, 0))
    assert found.bound > 4


def test_an_exception_in_a_batch_goes_to_the_caller():
    with pytest.raises(ZeroDivisionError):
        audit(lambda x: np.arange(BATCH) / (1 // x), 0, 1)


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize(
    ("m", "event"),
    [
        (lambda x: float("nan") if x else float(lw.discrete_laplace(1)), "output is NaN"),
        (lambda x: None if x else lw.discrete_laplace(1), "output is None"),
        (lambda x: x, "output ≥ 1"),
        (lambda x: str(x), "output is '0'"),
        (lambda x: [0] * (x + 2), "output 3 ≥ 0"),
        (lambda x: Fraction(x, 3), "output ≥ 0.3333333333333333"),
        (lambda x: Decimal(x), "output ≥ 1"),
        (lambda x: 10**400 if x else 1, "output is inf"),
        (lambda x: {"a": x}, "output is {'a': 0}"),
        (lambda x: np.array([0, x, 0]), "output 2 ≥ 1"),
        (lambda x: float(lw.discrete_laplace(1)) if x else lw.discrete_laplace(1), "output is of type int"),
    ],
)
def test_what_is_told_without_noise_is_shown_by_all_draws(m, event):
    found = one_by_one(m, 0, 1)
    assert found.bound > 4
    assert found.counts == (3000, 0)
    assert found.event == event


@pytest.mark.usefixtures("frozen_noise")
def test_vectors_may_come_as_lists_arrays_and_batches():
    made = [
        audit_mechanism(lambda x: [x + lw.discrete_laplace(1), 5], 0, 1, 1, draws=4000),
        audit_mechanism(lambda x: np.array([x + lw.discrete_laplace(1), 5.0]), 0, 1, 1, draws=4000),
        audit_mechanism(lambda x: [[v, 5] for v in x + lw.discrete_laplace(1, 500)], 0, 1, 1, draws=4000, batch=500),
    ]
    assert all(0.5 < each.bound < 1.2 for each in made)  # 0.8 ± 0.04


@pytest.mark.usefixtures("frozen_noise")
def test_randomized_response_is_tight():
    found = audit(lambda bit: lw.randomized_response(np.full(BATCH, bit), epsilon=1), False, True)
    assert 0.9 <= found.bound <= 1  # 0.95 ± 0.006
    words = one_by_one(lambda x: "yes" if x + lw.discrete_laplace(1) >= 1 else "no", 0, 1)
    assert 0.5 <= words.bound <= 1
    assert words.event in ("output is 'yes'", "output is 'no'")


@pytest.mark.usefixtures("frozen_noise")
def test_a_set_of_values_is_found_where_no_threshold_tells():
    """x gives even numbers three times of four, y odd ones."""
    random = np.random.default_rng()

    def parity(x):
        return 2 * random.integers(0, 10, BATCH) + ((random.random(BATCH) < 0.25) ^ bool(x))

    found = audit(parity, 0, 1)
    assert 0.9 < found.bound <= math.log(3)  # 1.05 ± 0.006


@pytest.mark.usefixtures("frozen_noise")
def test_many_cells_are_looked_at_where_they_differ():
    def histogram(x):
        cells = lw.discrete_laplace(1, (1000, 200))
        cells[:, 150] += 3 * x
        return cells

    found = audit(histogram, 0, 1, draws=20_000, batch=1000)
    assert found.bound > 1.5  # 2.7 ± 0.03
    assert "output 151" in found.event


@pytest.mark.usefixtures("frozen_noise")
def test_nothing_is_shown_of_what_ignores_its_input():
    random = np.random.default_rng()
    assert audit(lambda x: random.normal(size=BATCH), 0, 1).bound == 0  # but for 1e-9


def test_the_audit_says_what_it_found():
    found = one_by_one(lambda x: x, 0, 1, epsilon="0.5", delta="0.000001", confidence="0.99")
    assert str(found) == (
        f"The true ε is at least {math.floor(found.bound * 1e4) / 1e4:.4f}, with confidence 0.99: this contradicts the "
        "claimed ε = 0.5, δ = 0.000001.\n"
        "Event: output ≥ 1.\n"
        "It happened in 3,000 of 3,000 draws on y and in 0 of 3,000 on x."
    )
    assert json.loads(json.dumps(found.to_dict())) == {
        "holds": False,
        "bound": found.bound,
        "epsilon": "0.5",
        "delta": "0.000001",
        "event": "output ≥ 1",
        "likelier": "y",
        "counts": [3000, 0],
        "draws": 3000,
        "confidence": "0.99",
    }
    with pytest.raises(AttributeError):
        found.bound = 0


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"epsilon": 0}, InvalidEpsilon),
        ({"draws": 99}, InvalidParameter),
        ({"batch": 0}, InvalidParameter),
        ({"delta": 2}, InvalidParameter),
        ({"m": 5}, InvalidParameter),
        ({"batch": 7}, InvalidRequest),
    ],
)
def test_what_cannot_be_audited_is_refused(asked, error):
    with pytest.raises(error):
        audit_mechanism(**{"m": lambda x: [x], "x": 0, "y": 1, "epsilon": 1, **asked})


def test_the_power_of_two_of_a_number_is_that_of_its_exact_value():
    values = [1.0, 0.5, 3.0, 12.0, -12.0, 0.1, 5e-324, 2.0**1000, math.pi, 1e-310]
    found = power_of_two(np.array([*values, 0.0, math.inf, math.nan]))
    for value, k in zip(values, found[:-3], strict=True):
        odd = Fraction(value) / Fraction(2) ** int(k)
        assert odd.denominator == 1
        assert odd.numerator % 2 == 1
    assert found[-3] == ZERO
    assert np.isnan(found[-2:]).all()


@pytest.mark.parametrize(
    "m",
    [
        lambda x: [[], [1], "a", None, 3, np.array(2.5), {1}, 2**70, math.inf][lw.discrete_laplace(2) % 9],
        lambda x: [1] if x else 1,
        lambda x: [[1, "a"], [math.inf, 2], [math.nan]][lw.discrete_laplace(2) % 3],
        lambda x: object(),
    ],
)
def test_any_output_is_read_with_few_draws_too(m):
    found = audit_mechanism(m, 0, 1, 1, draws=100)
    assert found.draws == 76
    assert 0 <= found.bound < math.inf


def test_an_output_is_read_alike_in_any_company():
    words = Words()
    for output in (1, 2.5, True, math.inf, math.nan, 2**70, 10**400, np.float64(3), np.int64(4)):
        alone, among = _of_list([output] * 2, words), _of_list([output, None], words)
        assert alone.kinds[0] == among.kinds[0], output
        assert np.array_equal(alone.values[0], among.values[0], equal_nan=True)


def test_a_mechanism_that_changes_its_input_does_not_see_the_change():
    found = lw.audit_mechanism(lambda table: (table.append(0), len(table))[1], [1], [1, 2, 3], 1, draws=1000)
    assert found.bound > 3


@pytest.mark.parametrize(("x", "y"), [(3, 3), ([1, 2], [1, 2])])
def test_two_inputs_that_are_the_same_are_refused(x, y):
    with pytest.raises(InvalidRequest, match="x and y are the same input"):
        lw.audit_mechanism(lambda value: 0, x, y, 1)


def test_one_output_in_place_of_a_batch_is_refused():
    with pytest.raises(InvalidRequest, match="returned 1 output, and batch is 10"):
        lw.audit_mechanism(lambda value: value, 0, 1, 1, batch=10)


def test_what_shows_nothing_says_so():
    assert "show nothing" in str(lw.audit_mechanism(lambda value: 0, 0, 1, 1, draws=200))
