"""The first story: an average weight, published exactly and with noise.

The people are invented, so their weights may be shown beside what is released.
"""

from __future__ import annotations

from fractions import Fraction

from rich.console import Console

from . import sensitivity
from .exact import text
from .mechanism import LaplaceMechanism

LOW, HIGH = 30, 150
EPSILON = Fraction(1, 10)
FOUR = {"Alice": 40, "Bob": 60, "Charles": 80, "Doe": 60}
THOUSAND = {**FOUR, **{f"person {i}": 40 + i * 7919 % 41 for i in range(5, 1001)}}


def tell(console: Console) -> None:
    """Print the story."""
    console.print("[bold]1. The exact average[/bold]")
    for name, weight in FOUR.items():
        console.print(f"   {name:<8}{weight:>4}")
    average = _average(FOUR)
    console.print(f"   {'average':<8}{text(average):>4}   published")
    others = sum(FOUR.values()) - FOUR["Charles"]
    console.print(
        f"   Alice, Bob and Doe compare notes: 4 × {text(average)} - {others} = {4 * average - others}.  "
        "Charles's weight is no secret any more.\n"
    )
    _publish(console, 2, FOUR)
    _publish(console, 3, THOUSAND)
    console.print(
        "More people, less noise in the average, and the same protection for each of them: at ε = 0.1 no answer is\n"
        "more than e^0.1 = 1.105 times as likely with one person's true weight as with any other.\n"
        "Next:  lapwing error --sensitivity 0.12 --epsilon 0.1     lapwing sensitivity mean --low 30 --high 150 -n 1000"
    )


def _average(people: dict[str, int]) -> Fraction:
    return Fraction(sum(people.values()), len(people))


def _publish(console: Console, number: int, people: dict[str, int]) -> None:
    """Release one average, with its error bar and what it tells about Charles."""
    n, truth = len(people), float(_average(people))
    one = sensitivity.mean(LOW, HIGH, n, neighbors="change_one")
    mechanism = LaplaceMechanism(one, EPSILON)
    released = round(mechanism.release(truth), 2)
    margin = mechanism.error.quantile("0.95")
    others = sum(people.values()) - people["Charles"]
    console.print(f"[bold]{number}. With noise, {n:,} people, ε = {text(EPSILON)}[/bold]")
    console.print(
        f"   Weights lie between {LOW} and {HIGH}: "
        f"one person moves the average by at most {HIGH - LOW}/{n:,} = {text(one)} (claim S4).\n"
        f"   Noise of scale {text(one)}/{text(EPSILON)} = {text(mechanism.scale)}."
    )
    console.print(f"   average   true {truth:.2f}   released {released:.2f}   95 % error bar ±{margin:,.1f}")
    console.print(
        f"   The others compare notes: {n:,} × {released:.2f} - {others:,} = {n * released - others:,.0f}, "
        f"give or take {n * margin:,.0f}.  Charles weighs {people['Charles']}.\n"
    )
