"""The page on which the Laplace mechanism is tried by hand: its formulas are lapwing's own, and it works as it says."""

from fractions import Fraction

import pytest

from lapwing.noise.distributions import DiscreteLaplace
from lapwing.server.pages.learning import EPSILONS, HIGHEST_PAY, PAY, SENSITIVITIES

from .looking import look_at
from .served import Running

pytestmark = pytest.mark.usefixtures("frozen_noise")


@pytest.fixture
def served(tmp_path):
    running = Running(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def page(chromium, served):
    with chromium.new_context() as context:
        made = served.sign_in(context, "ana")
        made.goto(f"{served.url}/learn")
        made.wait_for_selector("#learn[data-ready=yes]")
        yield made


SCALES = sorted({Fraction(wide) / Fraction(epsilon) for epsilon in EPSILONS for wide in (*SENSITIVITIES, HIGHEST_PAY)})
"""All scales that the sliders can give."""

ASKED = """async ([scales, points, us]) => {
  const law = await import("/static/laplace.js");
  return scales.map((scale) => ({
    margin: law.margin(scale), margin80: law.margin(scale, 0.8), of_difference: law.marginOfDifference(scale),
    pmf: points.map((x) => law.pmf(x, scale)), difference: points.map((x) => law.difference(x, scale)),
    noise: us.map((u) => law.noise(scale, u)),
  }));
}"""


def difference(law, d):
    """P(X - Y = d), summed over all Y that matter."""
    reach = law.margin(1 - Fraction(1, 10**12))
    return sum(law.pmf(y) * law.pmf(y + d) for y in range(-reach, reach + 1))


def test_A1_A2_the_formulas_of_the_page_are_those_of_the_library(page):
    points, us = [0, 1, 2, 5, 17, -3], [1e-9, 0.01, 0.2, 0.35, 0.5, 0.6180339, 0.75, 0.9, 0.999, 1 - 1e-9]
    told = page.evaluate(ASKED, [[float(scale) for scale in SCALES], points, us])
    for scale, found in zip(SCALES, told, strict=True):
        law = DiscreteLaplace(scale)
        assert (found["margin"], found["margin80"]) == (law.margin(), law.margin(Fraction(4, 5))), scale
        assert found["pmf"] == pytest.approx([law.pmf(x) for x in points], rel=1e-12)
        assert found["noise"] == [law.quantile(u) for u in us], scale
        if scale <= 20:
            assert found["difference"] == pytest.approx([difference(law, x) for x in points], rel=1e-9)
            inside = sum(difference(law, d) for d in range(-found["of_difference"], found["of_difference"] + 1))
            last = difference(law, found["of_difference"])
            assert inside >= 0.95 > inside - 2 * last, scale


def test_the_sliders_tell_the_bar_and_the_ratio_of_each_setting(page):
    for place, epsilon in enumerate(EPSILONS):
        page.fill("#epsilon", str(place))
        law = DiscreteLaplace(1 / Fraction(epsilon))
        assert page.inner_text("#margin") == f"{law.margin():,}"
        assert page.inner_text("#factor") == page.inner_text("#ratio")
    page.fill("#sensitivity", "4")
    assert page.inner_text("#factor") == page.inner_text("#ratio")  # e^ε, whatever the sensitivity
    assert page.inner_text("#scale") == "2"
    rows = page.locator("table tbody tr").all_inner_texts()
    margins = [f"{epsilon}\t± {DiscreteLaplace(1 / Fraction(epsilon)).margin()}" for epsilon in EPSILONS]
    assert rows == margins


def test_draws_are_about_the_count_and_start_anew_with_other_settings(page):
    page.click("#draw-many")
    words = page.inner_text("#drawn")
    assert words.startswith("1,000 drawn, ")
    inside = int(words.split(", ", 1)[1].split(" ")[0].replace(",", ""))
    assert 900 <= inside <= 1000  # 959 expected; a standard deviation is 6
    page.fill("#n", "5")
    assert page.inner_text("#drawn") == "Nothing is drawn yet."


def test_the_attack_succeeds_on_exact_averages_and_fails_on_noisy_ones(page):
    for place, (name, pay) in enumerate(PAY):
        page.select_option("#target", str(place))
        page.click("#attack-form button")
        assert page.inner_text("#subtraction").endswith(f"= {pay}")
        assert f"{name} earns {pay}, and the subtraction says exactly that" in page.inner_text("#verdict")
    page.check("#noisy")
    page.fill("#attack-epsilon", "0")
    told = set()
    for _ in range(5):
        page.click("#attack-form button")
        told.add(page.inner_text("#subtraction").partition("= ")[2])
        assert "wider than the whole range of pay" in page.inner_text("#verdict")
    assert len(told) > 1  # five equal answers at a scale of 1,000: one time in 10^13


def test_the_page_of_learning_looks_right_everywhere(chromium, served):
    def act(page):
        page.click("#draw-many")
        page.check("#noisy")
        page.click("#attack-form button")

    assert look_at(chromium, served, "ana", "/learn", "server-learn", act) == []


def test_without_a_script_the_table_is_there(chromium, served):
    with chromium.new_context(java_script_enabled=False) as context:
        page = served.sign_in(context, "ana")
        page.goto(f"{served.url}/learn")
        assert "The sliders need JavaScript" in page.inner_text("main")
        assert "± 30" in page.inner_text("table")
