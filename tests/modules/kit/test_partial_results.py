"""Changes to several things: what is told of each, and when it ends."""

from typing import Any

import pytest

from modules.kit import OUTCOME_UNKNOWN, Context, ToolError, VendorProblem
from modules.kit.partial_results import PartialResult, change_each

CONFLICT = VendorProblem("conflict", "somebody changed it")
MISSING = VendorProblem("not_found", "no such task")
LIMITED = VendorProblem("rate_limited", "too many requests", retry="try again in 30 s")
GONE = VendorProblem("unavailable", "no answer", unknown=True)
DEAD = VendorProblem("unauthorized", "the account is refused")


class Progress:
    """A context that counts progress."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float | None]] = []

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.told.append((done, total))


async def changed(*outcomes: Exception | None) -> tuple[dict[str, Any], list[int], list[tuple[float, float | None]]]:
    """What `outcomes` make, one for each item from 0: the result, what was asked for, and the progress."""
    asked: list[int] = []

    async def change(item: int) -> str:
        asked.append(item)
        outcome = outcomes[item]
        if outcome is not None:
            raise outcome
        return f"done {item}"

    progress: Any = Progress()
    context: Context = progress
    done = await change_each(context, [*range(len(outcomes)), 0], change)
    return {"results": done.results, **PartialResult(**done.fields).model_dump()}, asked, progress.told


async def test_each_is_changed_once_with_progress() -> None:
    assert await changed(None, None) == ({"results": ["done 0", "done 1"]}, [0, 1], [(1, 2), (2, 2)])


async def test_which_failed_and_why() -> None:
    result, asked, _ = await changed(None, MISSING, None, ToolError("it is too long"))
    assert result == {
        "results": ["done 0", "done 2"],
        "failed": [{"item": "1", "error": "no such task"}, {"item": "3", "error": "it is too long"}],
    }
    assert asked == [0, 1, 2, 3]


@pytest.mark.parametrize("problem", [LIMITED, DEAD])
async def test_what_would_meet_the_next_too_ends_it(problem: VendorProblem) -> None:
    result, asked, _ = await changed(None, problem, None, None)
    assert result["failed"] == [{"item": "1", "error": str(problem)}]
    assert result["not_tried"] == ["2", "3"]
    assert asked == [0, 1]
    with pytest.raises(VendorProblem) as raised:
        await changed(problem, None)
    assert raised.value is problem


async def test_a_missing_answer_ends_it_and_is_told_as_such() -> None:
    with pytest.raises(VendorProblem) as raised:
        await changed(GONE)
    assert raised.value is GONE, "of one alone it is the tool's own error"
    result, asked, _ = await changed(GONE, None)
    assert result["failed"] == [{"item": "0", "error": f"no answer; {OUTCOME_UNKNOWN}", "unknown": True}]
    assert result["not_tried"] == ["1"]
    assert asked == [0]


async def test_where_nothing_was_changed_it_fails() -> None:
    with pytest.raises(ToolError, match=r"nothing was changed\. 0: no such task; 1: somebody changed it"):
        await changed(MISSING, CONFLICT)
    with pytest.raises(ToolError, match="and 2 more"):
        await changed(*[MISSING] * 7)


async def test_a_fault_of_the_module_s_own_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await changed(None, ZeroDivisionError())
