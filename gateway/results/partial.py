"""The answer in place of a result that is too large: what fits of it, and before that what is left, how to read it."""

from collections.abc import Callable
from typing import Any

from gateway.results.fitting import Fitter, Remainder, count_value
from gateway.results.shape import describe_shape
from modules.kit.untrusted import UNTRUSTED_FIELD

PARTIAL_FIELD = "partial"
"""Before all fields of the result; no tool's result has a field of this name (tests/gateway/results)."""
HOW_TO_SHOW = "module results: show_content {handle, position}, or in parts read_result {handle, path, start}"
HOW_TO_READ = "module results: read_result {handle, path, start, count, columns} or search_result {handle, text}"
NOT_KEPT = "the rest could not be kept; ask for less"

_SHARES = (1.0, 0.8, 0.5, 0.0)
_MAX_SHAPE_CHARACTERS = 1_200
_DESCRIPTION = 8
"""The part of a budget, one in so many, that shape and remainders may take each."""


def build_partial(value: dict[str, Any], budget: int, description: dict[str, Any]) -> dict[str, Any]:
    """Build the answer: a `description` of the whole, completed by its shape and what is left, and what fits.

    Whole items are shown as far as they fit, `next` says where each list or text goes on.
    """
    mark = {UNTRUSTED_FIELD: value[UNTRUSTED_FIELD]} if UNTRUSTED_FIELD in value else {}
    fields = {name: one for name, one in value.items() if name not in mark}
    shape = describe_shape(fields, min(_MAX_SHAPE_CHARACTERS, budget // _DESCRIPTION * 3))

    def build(tokens: int) -> dict[str, Any]:
        fitter = Fitter()
        shown, _ = fitter.fit(fields, tokens)
        partial = {**description, "shape": shape, **render_remainders(fitter, budget // _DESCRIPTION)}
        return {**mark, PARTIAL_FIELD: partial, **shown}

    return build_within(build, budget) or {**mark, PARTIAL_FIELD: description}


def build_within(build: Callable[[int], dict[str, Any]], budget: int) -> dict[str, Any] | None:
    """Build an answer with as many tokens for its contents that all of it is within the budget; None where even without
    contents it is not."""
    left = budget - (count_value(build(0), budget) or budget)
    for share in _SHARES:
        answer = build(int(left * share))
        if count_value(answer, budget) is not None:
            return answer
    return None


def render_remainders(fitter: Fitter, budget: int) -> dict[str, Any]:
    """Render what is left, as far as it fits: the others are counted."""
    rendered = [one.render() for one in sorted(fitter.left, key=_get_depth)]
    shown: list[dict[str, Any]] = []
    for one in rendered:
        tokens = count_value(one, budget)
        if tokens is None:
            break
        shown.append(one)
        budget -= tokens
    more = fitter.more + len(rendered) - len(shown)
    return ({"left": shown} if shown else {}) | ({"more_left": more} if more else {})


def _get_depth(remainder: Remainder) -> int:
    return len(remainder.path)
