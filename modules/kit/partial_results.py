"""One change to each of several things: what was done, which failed and why, and what was not tried.

class ClosedTasks(PartialResult):
    tasks: list[SavedTask]

done = await change_each(context, task_ids, close)
return ClosedTasks(tasks=done.results, **done.fields)
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import Field

from modules.kit.context import Context
from modules.kit.errors import ToolError
from modules.kit.results import Flag, Line, ResultModel
from modules.kit.vendor import VendorProblem

_OF_ALL = frozenset({"unauthorized", "rate_limited", "unavailable"})
"""Refusals that would meet the next one too: the rest is not tried."""

Item = TypeVar("Item", bound=str | int)
Result = TypeVar("Result")


class FailedItem(ResultModel):
    """One that failed. `unknown`: whether it was changed is not known; look before it is tried again."""

    item: Line
    error: str
    unknown: Flag = False


class PartialResult(ResultModel):
    """What became of several; fields are left out where nothing failed."""

    failed: Annotated[list[FailedItem], Field(exclude_if=lambda failed: not failed)] = []  # noqa: RUF012
    not_tried: Annotated[list[Line], Field(exclude_if=lambda items: not items)] = []  # noqa: RUF012


class ChangedItems(NamedTuple, Generic[Result]):
    """The results of those that were changed, in their order; `failed` and `not_tried` are of the others."""

    results: list[Result]
    failed: list[FailedItem]
    not_tried: list[str]

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a :class:`PartialResult`."""
        return {"failed": self.failed, "not_tried": self.not_tried}


async def change_each(
    context: Context, items: Sequence[Item], change: Callable[[Item], Awaitable[Result]]
) -> ChangedItems[Result]:
    """Change one after another, each once even if it is given twice, with progress. An item that the vendor refuses
    costs that item; where the next would meet the same, such as a rate limit, or an answer is missing, it ends there.

    Raises:
        ToolError: nothing was changed, or there is one item only.
    """
    distinct = list(dict.fromkeys(items))
    results: list[Result] = []
    failed: list[FailedItem] = []
    for number, item in enumerate(distinct):
        try:
            results.append(await change(item))
        except ToolError as problem:
            unknown = isinstance(problem, VendorProblem) and problem.unknown
            if len(distinct) == 1 or (not results and not unknown and _concerns_all(problem)):
                raise
            failed.append(FailedItem(item=str(item), error=str(problem), unknown=unknown))
            if unknown or _concerns_all(problem):
                return _end(results, failed, distinct[number + 1 :])
        await context.report_progress(number + 1, len(distinct))
    return _end(results, failed, [])


def _concerns_all(problem: ToolError) -> bool:
    return isinstance(problem, VendorProblem) and problem.kind in _OF_ALL


def _end(results: list[Result], failed: list[FailedItem], rest: Sequence[str | int]) -> ChangedItems[Result]:
    """Raises: ToolError: nothing was changed, and it is known that nothing was."""
    if results or any(one.unknown for one in failed):
        return ChangedItems(results, failed, [str(item) for item in rest])
    told = "; ".join(f"{one.item}: {one.error}" for one in failed[:5])
    more = f"; and {len(failed) - 5} more" if len(failed) > 5 else ""
    raise ToolError(f"nothing was changed. {told}{more}")
