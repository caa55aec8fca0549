"""Requests to Toggl's API (https://engineering.toggl.com/docs)."""

from typing import Any

from modules.kit import Context, ToolError, VendorAnswer, VendorProblem
from modules.kit.results import ReadRows, read_object, read_rows
from modules.toggl.error_messages import explain_problem
from modules.toggl.results import TogglProfile, TogglWorkspace

MAX_WORKSPACES = 200
API = "/api/v9"
REPORTS = "/reports/api/v3"


async def send_request(context: Context, method: str, address: str, *, api: str = API, **options: Any) -> VendorAnswer:
    """Send one request to one of Toggl's APIs; `options` are those of :meth:`modules.kit.Vendor.request`.

    Raises:
        VendorProblem: Toggl refused it; the text says what to do.
    """
    try:
        return await context.vendor.request(method, f"{api}{address}", **options)
    except VendorProblem as problem:
        raise explain_problem(problem) from None


def read_list(answer: VendorAnswer) -> list[Any]:
    """Read an answer that is a list; Toggl writes null for an empty one.

    Raises:
        VendorProblem: it is something else.
    """
    value = answer.json()
    return [] if value is None else answer.read_part(list[Any], value)


async def fetch_profile(context: Context) -> TogglProfile:
    """Fetch whose the account is."""
    return read_object(await send_request(context, "GET", "/me"), TogglProfile)


async def fetch_workspaces(context: Context) -> ReadRows[TogglWorkspace]:
    """Fetch the account's workspaces, at most 200."""
    answer = await send_request(context, "GET", "/me/workspaces")
    return await read_rows(answer, TogglWorkspace, read_list(answer)[:MAX_WORKSPACES])


async def choose_workspace(context: Context, workspace_id: int | None) -> int:
    """Return a workspace, by default that in which the account works.

    Raises:
        ToolError: it has none.
    """
    if workspace_id is not None:
        return workspace_id
    found = (await fetch_profile(context)).default_workspace_id
    if found is None:
        raise ToolError("the account has no default workspace: give workspace_id")
    return found
