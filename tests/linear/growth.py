"""Whether the CPU time of a function of one text grows faster than the text."""

import re
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from tests.linear.candidates import candidates, may_be_slow_at_once
from tests.linear.patterns import Use

TINY = (16, 24, 40, 64, 128)
SMALL, LARGE = 512, 16_384
WHOLE = 1 << 20
MOST_RATIO = 3.0
"""Of the whole to its half; 2 is linear, 4 quadratic. A match takes up to 100 bytes a character, and so much memory is
dearer in the large process of a whole test run."""

MOST_GROWTH = 2.5
"""Of the time a character, over eight times the text: 1 is linear, 8 quadratic."""

MOST_STEPS = 400
"""Of a character, in steps of the regular expression engine on this machine: what is bounded, but by thousands, is no
better than quadratic."""

EXPONENTIAL_SECONDS = 0.001
UNMEASURABLE_SECONDS = 0.003
ENOUGH_SECONDS = 0.02

Run = Callable[[Any], object]


class Input(NamedTuple):
    """`start`, then `pump` as often as it takes, then `end`."""

    start: str
    pump: str
    end: str

    def of(self, size: int, *, encoded: bool = False) -> Any:
        text = self.start + self.pump * (size // len(self.pump) + 1) + self.end
        return text.encode("latin-1", "replace") if encoded else text


class Finding(NamedTuple):
    """The input whose time grows most, and by how much; `nanoseconds` are those of a character at the end."""

    run: Run
    input: Input
    growth: float
    nanoseconds: float
    encoded: bool

    @property
    def is_linear(self) -> bool:
        return self.growth < MOST_GROWTH and self.nanoseconds < MOST_STEPS * measure_step()


@cache
def measure_step() -> float:
    """Measure what the engine takes for one character of a class, in nanoseconds of CPU time."""
    text = "eyJ-" * 16_384
    return seconds(re.compile(r"[\w-]*").fullmatch, text, 20) / len(text) * 1e9


def runs(use: Use) -> list[Run]:
    """The pattern as the product uses it. Replacing searches on after each match, as every method but the first two."""
    pattern, methods = use.pattern, use.methods
    found: list[Run] = [getattr(pattern, name) for name in ("match", "fullmatch") if name in methods]
    if methods - {"match", "fullmatch", "search"}:
        found.append(lambda text: pattern.sub(_same, text))
    elif "search" in methods:
        found.append(pattern.search)
    return found


def worst(use: Use, suspects: int = 8) -> Finding:
    """Of the inputs made from the pattern, the one with the worst growth among the `suspects` that take longest; at
    once where one is exponential."""
    encoded = isinstance(use.pattern.pattern, bytes)
    tiny = TINY if may_be_slow_at_once(use.pattern) else ()
    rated: list[tuple[float, Run, Input]] = []
    for start, pump, end in candidates(use.pattern):
        one = Input(start, pump, end)
        for run in runs(use):
            if any(_is_exponential(run, one.of(size, encoded=encoded)) for size in tiny):
                return Finding(run, one, float("inf"), float("inf"), encoded)
            small = one.of(SMALL, encoded=encoded)
            rated.append((seconds(run, small) / len(small), run, one))
    rated.sort(key=lambda each: each[0], reverse=True)
    found: list[Finding] = []
    for _, run, one in rated[:suspects]:
        found.append(grown(run, one, encoded=encoded))
        if found[-1].is_linear:
            continue
        found[-1] = grown(run, one, encoded=encoded)  # what is slow is so again; what another process disturbed is not
        if not found[-1].is_linear:
            return found[-1]
    return max(found, key=lambda each: each.growth)


def grown(run: Run, one: Input, *, encoded: bool = False) -> Finding:
    """How the time grows over three doublings of the text, the last of which takes long enough to be measured."""
    size = SMALL
    while size < LARGE and seconds(run, one.of(size, encoded=encoded)) < ENOUGH_SECONDS:
        size *= 2
    few, many = (seconds(run, one.of(each, encoded=encoded), 2) for each in (size // 8, size))
    growth = 1.0 if many < UNMEASURABLE_SECONDS else many / max(few, 1e-7) / 8
    return Finding(run, one, growth, many / size * 1e9, encoded)


def _is_exponential(run: Run, text: Any) -> bool:
    return seconds(run, text) > EXPONENTIAL_SECONDS and seconds(run, text, 3) > EXPONENTIAL_SECONDS


def ratio(run: Run, one: Input, *, encoded: bool = False, whole_size: int = WHOLE) -> tuple[float, float]:
    """The time of 1 MiB, or `whole_size`, relative to that of the half, and in seconds; 2.0 where neither can be
    measured.

    Where that is too much, twice the size is compared too, and the lesser counts: what is quadratic is so at every
    doubling, while the allocator's change from its heap to fresh pages (32 MiB in glibc) is paid at one of them.
    """
    times, took = _doubling(run, one, whole_size, encoded=encoded)
    if times > MOST_RATIO:
        times = min(times, _doubling(run, one, 2 * whole_size, encoded=encoded)[0])
    return times, took


def _doubling(run: Run, one: Input, whole_size: int, *, encoded: bool) -> tuple[float, float]:
    half, whole = (one.of(size, encoded=encoded) for size in (whole_size // 2, whole_size))
    best = float("inf")
    for _ in range(6):  # a garbage collection or another process's cache misses are not the pattern's
        few, many = seconds(run, half), seconds(run, whole)
        if many < UNMEASURABLE_SECONDS:
            return 2.0, many
        best = min(best, many / few)
        if best <= MOST_RATIO:
            break
    return best, many


def seconds(run: Run, text: Any, times: int = 1) -> float:
    """The least CPU time of this thread."""
    return min(_once(run, text) for _ in range(times))


def _once(run: Run, text: Any) -> float:
    began = time.thread_time()
    run(text)
    return time.thread_time() - began


def _same(found: "re.Match[Any]") -> Any:
    return found[0]


def texts(pieces: Iterable[str]) -> list[Input]:
    """Each piece repeated, alone and before what makes a match fail."""
    return [Input("", piece, end) for piece in pieces for end in ("", "\0")]
