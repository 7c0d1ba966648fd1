"""Ask whether the running time of a call tells the noise, and write the answer into docs/reference/benchmarks.md.

Single calls are timed one by one, and the times compared with the absolute value of what they returned; then
calls for arrays.  A sampler that counts in a loop, and so must leak, shows that the measure can see a leak.
Last, calls are given chosen random words, to see which property of a word costs how many nanoseconds.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere
from scipy import stats

import lapwing as lw

SCALES = {"1": 1, "10": 10, "1000": 1000, "2^40": 2**40}
LEAKY_SCALES = {"1": 1, "10": 10}
SIGNS = ("plus", "minus")
ARRAY = 1000
KEPT = 0.99
"""Times above this quantile are thrown away: what interrupts a call is not what it drew."""

Z = stats.norm.ppf(1 - 0.001 / 2)
"""Half the width of a 99.9 % interval, in standard errors."""


# ── times and noise ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Sample:
    """The times of calls in ns, and what each returned."""

    what: str
    times: NDArray[np.float64]
    noise: NDArray[np.float64]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which calls are within the fixed quantile of time."""
        return self.times <= np.quantile(self.times, KEPT)


def sample(what: str, draw: Callable[[], int], calls: int) -> Sample:
    """Time single calls, one by one."""
    clock, times, noise = time.perf_counter_ns, array("q", bytes(8 * calls)), array("d", bytes(8 * calls))
    for i in range(calls):
        start = clock()
        drawn = draw()
        end = clock()
        times[i], noise[i] = end - start, drawn
    return Sample(what, np.array(times, dtype=np.float64), np.array(noise))


def leaky(scale: int) -> int:
    """Draw integer noise by counting failures, so that the time grows with the result: never use it."""
    go_on, uniform = math.exp(-1 / scale), random.random
    size = 0
    while uniform() < go_on:
        size += 1
    return size if uniform() < 0.5 else -size


def single_samples(calls: int) -> Iterable[Sample]:
    """Return the samples of single calls of Lapwing."""
    for name, scale in SCALES.items():
        step(f"{calls:,} calls at scale {name}")
        yield sample(f"`lw.discrete_laplace({name})`", lambda scale=scale: lw.discrete_laplace(scale), calls)


def leaky_samples(calls: int) -> Iterable[Sample]:
    """Return the samples of the sampler that leaks."""
    for name, scale in LEAKY_SCALES.items():
        step(f"{calls:,} calls of the leaky sampler at scale {name}")
        yield sample(f"leaky sampler, scale {name}", lambda scale=scale: leaky(scale), calls)


def array_samples(calls: int) -> Iterable[Sample]:
    """Return the samples of calls for arrays; their noise is the mean absolute value."""
    for name, scale in SCALES.items():
        step(f"{calls:,} calls of arrays at scale {name}")
        clock, times, noise = time.perf_counter_ns, np.empty(calls), np.empty(calls)
        for i in range(calls):
            start = clock()
            drawn = lw.discrete_laplace(scale, ARRAY)
            end = clock()
            times[i], noise[i] = end - start, np.abs(drawn).mean()
        yield Sample(f"`lw.discrete_laplace({name}, {ARRAY})`", times, noise)


# ── what the times tell ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Estimate:
    """A number with its 99.9 % interval."""

    value: float
    low: float
    high: float

    @property
    def seen(self) -> bool:
        """Whether the interval leaves 0 out."""
        return not self.low <= 0 <= self.high

    def text(self, digits: int) -> str:
        """Write it as value [low, high], in bold when 0 is left out."""
        mark = "**" if self.seen else ""
        return f"{mark}{self.value:+.{digits}f}{mark} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


def correlation(times: NDArray[np.float64], sizes: NDArray[np.float64], *, ranks: bool) -> Estimate:
    """Return Pearson's or (of the ranks) Spearman's correlation, its interval by Fisher's transformation.

    Draws are independent of each other, so drift and echoes in the times alone cannot feign a correlation.
    """
    if ranks:
        times, sizes = stats.rankdata(times), stats.rankdata(sizes)
    r = float(np.corrcoef(times, sizes)[0, 1])
    spread = Z * math.sqrt((1.06 if ranks else 1.0) / (len(times) - 3))
    center = math.atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    return Estimate(r, math.tanh(center - spread), math.tanh(center + spread))


def difference(times: NDArray[np.float64], chosen: NDArray[np.bool_]) -> Estimate:
    """Return how much longer the chosen calls take than the others, in ns, on average."""
    ours, others = times[chosen], times[~chosen]
    if min(len(ours), len(others)) < 2:
        return Estimate(0.0, -math.inf, math.inf)
    value = float(ours.mean() - others.mean())
    spread = Z * math.sqrt(ours.var(ddof=1) / len(ours) + others.var(ddof=1) / len(others))
    return Estimate(value, value - spread, value + spread)


@dataclass(frozen=True)
class Finding:
    """What the times of one sample tell."""

    what: str
    calls: int
    typical: float  # median time, ns
    pearson: Estimate
    spearman: Estimate
    larger: Estimate  # |noise| above its median, against the rest, ns
    negative: Estimate | None  # noise below 0 against noise above 0, ns
    dropped: float  # mean |noise| of the calls thrown away over that of the others

    @property
    def seen(self) -> bool:
        """Whether one of the two correlations is distinguishable from 0."""
        return self.pearson.seen or self.spearman.seen


def finding(found: Sample, *, signed: bool) -> Finding:
    """Return what the times of a sample tell."""
    kept = found.kept
    times, noise = found.times[kept], found.noise[kept]
    sizes = np.abs(noise)
    other = np.abs(found.noise[~kept])
    moved = noise != 0
    return Finding(
        found.what,
        len(found.times),
        float(np.median(times)),
        correlation(times, sizes, ranks=False),
        correlation(times, sizes, ranks=True),
        difference(times, sizes > np.median(sizes)),
        difference(times[moved], noise[moved] < 0) if signed else None,
        float(other.mean() / sizes.mean()) if len(other) else math.nan,
    )


# ── which words take longer ──────────────────────────────────────────────────────────────────────────────────


class Chosen:
    """Entropy for tests that always gives the same words."""

    private = False

    def __init__(self, words: NDArray[np.int64]) -> None:
        self._words = words
        self._first = int(words.view(np.uint64)[0])

    def bits(self, count: int) -> int:
        """Return the first bits of the first word."""
        return self._first >> (64 - count)

    def stream(self) -> Chosen:
        """Return itself: every call sees the same words."""
        return self

    def fill(self, words: NDArray[np.int64]) -> None:
        """Copy the words."""
        words[:] = self._words[: words.size]


def one_word(length: int, negative: bool) -> Chosen:
    """Return entropy whose word holds a U of 63 bits with this length (63: U ≥ 1/2), and the sign."""
    bits = 1 << (length - 1) | random.getrandbits(length - 1)
    return Chosen(np.array([bits << 1 | negative], np.uint64).view(np.int64))


def many_words(short: int) -> Chosen:
    """Return entropy for an array whose first ``short`` words are below 2^36, which makes the noise large."""
    words = np.random.default_rng().integers(1 << 62, (1 << 63) - 1, ARRAY)
    words[:short] = 1 << 35
    return Chosen(words)


def compared(kinds: Sequence[Sequence[Callable[[], object]]], rounds: int) -> list[Estimate]:
    """Return the median of how many ns a call of each kind takes more than one of the first kind.

    Every round makes one call of each kind, in changing order; a kind's calls take turns.  The interval is that
    of the median by order statistics.
    """
    clock, times = time.perf_counter_ns, np.empty((rounds, len(kinds)))
    order = list(range(len(kinds)))
    for i in range(rounds):
        random.shuffle(order)
        for j in order:
            call = kinds[j][i % len(kinds[j])]
            start = clock()
            call()
            end = clock()
            times[i, j] = end - start
    excess = np.sort(times - times[:, :1], axis=0)
    reach = Z * math.sqrt(rounds) / 2
    low, high = max(0, math.floor(rounds / 2 - reach)), min(rounds - 1, math.ceil(rounds / 2 + reach))
    return [Estimate(float(np.median(each)), float(each[low]), float(each[high])) for each in excess.T]


def word_lines(scale: int, rounds: int) -> Iterable[Sequence[str]]:
    """Return, for chosen kinds of words, how much longer a single call takes."""
    step(f"chosen words, single calls at scale {scale}")
    lengths = {"U ≥ 1/2": 63, "2^-2 > U ≥ 2^-3": 61, "2^-3 > U ≥ 2^-4": 60, "2^-9 > U ≥ 2^-10": 54, "2^-10 > U": 53}
    kinds = {f"{text}, {sign}": (length, sign == "minus") for text, length in lengths.items() for sign in SIGNS}
    kinds |= {f"U ≥ 1/2, {sign}, other words": (63, sign == "minus") for sign in SIGNS}
    sources = [[one_word(*kind) for _ in range(64)] for kind in kinds.values()]
    calls = [[lambda e=e: lw.discrete_laplace(scale, entropy=e) for e in each] for each in sources]
    found = compared(calls, rounds)
    for what, each, excess in zip(kinds, sources, found, strict=True):
        noise = [lw.discrete_laplace(scale, entropy=e) for e in each]
        yield f"scale {scale}: {what}", _reach(noise), "0" if excess is found[0] else excess.text(0)


def array_lines(rounds: int) -> Iterable[Sequence[str]]:
    """Return, for chosen kinds of words, how much longer a call for an array takes."""
    step("chosen words, arrays")
    kinds = {"no word below 2^36": 0, "none, other words": 0, "one word below 2^36": 1, "ten words below 2^36": 10}
    sources = [[many_words(short) for _ in range(16)] for short in kinds.values()]
    calls = [[lambda e=e: lw.discrete_laplace(10, ARRAY, entropy=e) for e in each] for each in sources]
    found = compared(calls, rounds)
    for what, each, excess in zip(kinds, sources, found, strict=True):
        largest = [int(np.abs(lw.discrete_laplace(10, ARRAY, entropy=e)).max()) for e in each]
        yield f"scale 10, {ARRAY} draws: {what}", _reach(largest), "0" if excess is found[0] else excess.text(0)


def _reach(noise: Sequence[int]) -> str:
    low, high = min(noise), max(noise)
    return f"{low:,}" if low == high else f"{low:,} … {high:,}"


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────


def findings_table(findings: Sequence[Finding]) -> str:
    """Return one line for each sample."""
    head = ("call", "calls", "median, ns", "Pearson", "Spearman", "larger, ns", "minus, ns", "dropped", "seen")

    def lines() -> Iterable[Sequence[str]]:
        for each in findings:
            estimates = each.pearson.text(4), each.spearman.text(4), each.larger.text(1)
            sign = each.negative.text(1) if each.negative else "–"
            seen = "yes" if each.seen else "no"
            yield each.what, f"{each.calls:,}", number(each.typical), *estimates, sign, f"{each.dropped:.2f}", seen

    return table(head, lines())


def verdicts(ours: Sequence[Finding], control: Sequence[Finding]) -> str:
    """Say in words what the intervals say."""
    seen = [each for each in ours if each.seen]
    signs = [each for each in ours if each.negative and each.negative.seen]
    lines = []
    if seen:
        lines.append(
            "- Distinguishable from 0: " + "; ".join(f"{each.what} ({_strongest(each)})" for each in seen) + "."
        )
    else:
        lines.append("- No correlation of time and |noise| is distinguishable from 0 at 99.9 %.")
    if signs:
        text = "; ".join(f"{each.what} by {each.negative.value:+.0f} ns" for each in signs if each.negative)
        lines.append(f"- The time differs between negative and positive noise: {text}.")
    else:
        lines.append("- No difference between negative and positive noise is distinguishable from 0 at 99.9 %.")
    blind = [each.what for each in control if not each.seen]
    if blind:
        lines.append(f"- The control FAILED: the leak is not seen in {', '.join(blind)}; the lines above mean nothing.")
    else:
        least = min(control, key=lambda each: each.spearman.value)
        lines.append(f"- The control works: its weakest correlation is {least.spearman.value:.2f} ({least.what}).")
    return "\n".join(lines)


def _strongest(found: Finding) -> str:
    both = (("Pearson", found.pearson), ("Spearman", found.spearman))
    name, estimate = max(both, key=lambda each: abs(each[1].value))
    return f"{name} {estimate.value:+.3f}, larger noise {found.larger.value:+.0f} ns"


def report(ours: Sequence[Finding], control: Sequence[Finding], words: Sequence[Sequence[str]], elsewhere: str) -> str:
    """Return the whole section of the page."""
    facts = [
        ("command", " ".join(["`python", "bench/timing.py", *sys.argv[1:]]) + "`"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        *machine(),
        ("background load", f"other processes used {elsewhere} meanwhile"),
    ]
    return "\n\n".join(
        [
            "## Timing: does the time of a call reveal the noise?",
            "\n".join(f"- {name}: {text}" for name, text in facts),
            verdicts(ours, control),
            findings_table([*ours, *control]),
            "Correlations of the time with |noise| (of arrays: with the mean |noise|); in brackets the 99.9 % interval "
            "by Fisher's approximation; bold where it excludes 0. *larger*: how much longer calls take whose |noise| "
            f"is above its median. *minus*: negative against positive noise. Calls slower than the {KEPT:.0%} quantile "
            "are left out; *dropped* is their mean |noise| over that of the others, 1 if they were slow for other "
            "reasons. The garbage collector is off. *seen*: a correlation is distinguishable from 0.",
            "### By the random word",
            table(("what a call reads", "noise", "ns more than the first"), words),
            "The same calls with chosen words in place of random ones, side by side, in changing order: the median of "
            "the paired differences with its 99.9 % interval, and the noise that those words give (of arrays: the "
            "largest |noise|). U is the uniform number that a word stands for. A word below 2^36 in absolute value "
            "comes once in 2^27 draws. How far lines that say *other words* are from the same lines without it is the "
            "error of this measure itself.",
        ]
    )


def main() -> int:
    """Time, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000, help="single calls per scale (default 200,000)")
    parser.add_argument("--quick", action="store_true", help="2,000 calls, write nothing: to try it out")
    asked = parser.parse_args()
    calls = 2_000 if asked.quick else asked.calls
    if calls < 1_000:
        parser.error("--calls must be at least 1000")

    gc.collect()
    gc.disable()
    before = busy_seconds()
    ours = [finding(each, signed=True) for each in single_samples(calls)]
    ours += [finding(each, signed=False) for each in array_samples(calls // 10)]
    control = [finding(each, signed=True) for each in leaky_samples(calls)]
    rounds = calls // 10
    words = [line for scale in (10, 1000) for line in word_lines(scale, rounds)] + list(array_lines(rounds // 4))
    text = report(ours, control, words, used_elsewhere(before))
    print(f"\n{text}\n")
    if not asked.quick:
        replace_section(PAGE, "timing", text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
