"""Work that was logged on issues."""

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from modules.jira import rest_client
from modules.jira.field_values import Moment, Person, RemovedFromIssue, format_started
from modules.jira.parameters import READ_WORK, WRITE_WORK, IssueKey, Markdown, PartId
from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    Timestamp,
    limit_length,
)
from modules.kit.results import CountedPage, Flag, Identifier, ResultModel, Text, Word, fit_texts, read_at

_PART = re.compile(
    r"([0-9]{1,5}(?:\.[0-9]{1,3})?) ?(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|min|m)(?:$|[ ,]{1,3}|(?=[0-9]))"
)
_CLOCK = re.compile(r"([0-9]{1,3}):([0-5][0-9])")
_SECONDS = {"h": 3600, "m": 60}


def read_time(text: str) -> dict[str, Any]:
    """Read a time as Jira takes it: ``1w 2d 3h 4m``, ``1.5h``, ``90 minutes`` or ``1:30``. Weeks and days are left for
    Jira, which knows how long they are.

    Raises:
        ValueError: it is none of these, or nothing.
    """
    plain = text.strip().lower().replace(" and ", " ")
    if clock := _CLOCK.fullmatch(plain):
        plain = f"{clock[1]}h {clock[2]}m"
    parts: list[tuple[str, str]] = []
    place = 0
    while found := _PART.match(plain, place):
        parts.append((found[1], found[2][0]))
        place = found.end()
    units = [unit for _, unit in parts]
    is_decimal = any("." in number and unit in "wd" for number, unit in parts)
    if not parts or place < len(plain) or len(set(units)) < len(units) or is_decimal:
        raise ValueError("is no time: write it as 1h 30m, 2d, 1.5h or 90 minutes; weeks and days without a fraction")
    if set(units) & {"w", "d"} and not any("." in number for number, _ in parts):
        return {"timeSpent": " ".join(f"{number}{unit}" for number, unit in parts)}
    if set(units) & {"w", "d"}:
        raise ValueError("has weeks or days with a fraction of hours: write whole numbers, as in 1d 30m")
    seconds = round(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    if seconds < 60:
        raise ValueError("is less than a minute, which Jira does not log")
    return {"timeSpentSeconds": seconds}


def _check_time(text: str) -> str:
    read_time(text)
    return text


SpentTime = Annotated[str, limit_length(1, 60), AfterValidator(_check_time)]
WorklogId = Annotated[PartId, Field(description="Worklog")]
KeepEstimate = Annotated[bool, Field(description="Leave the remaining estimate")]


class JiraWorklog(ResultModel):
    id: Identifier
    author: Person = ""
    started: Moment = ""
    time: Annotated[Word, read_at("timeSpent")] = ""
    text: Annotated[Text, BeforeValidator(format_adf), read_at("comment")] = ""
    truncated: Flag = False


class JiraWorklogs(CountedPage):
    worklogs: list[JiraWorklog]


class SavedWorklog(ResultModel):
    id: Identifier
    time: Annotated[Word, read_at("timeSpent")] = ""


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_worklogs(
    context: Context, issue: IssueKey, per_page: PerPage = 50, cursor: CursorText = None
) -> JiraWorklogs:
    """Work logged on an issue, oldest first."""
    address = build_path("/rest/api/3/issue/{}/worklog", issue)
    page = await rest_client.fetch_page(
        context, JiraWorklog, address, rows="worklogs", cursor=cursor, per_page=per_page
    )
    return JiraWorklogs(worklogs=fit_texts(page.rows, "text"), **page.fields)


@tool(hints=ADD_HINTS, scopes=[WRITE_WORK])
async def add_worklog(
    context: Context,
    issue: IssueKey,
    time: Annotated[SpentTime, Field(description="Such as 1h 30m, 2d, 1.5h")],
    started: Annotated[Timestamp, Field(description="With zone; now if left out")] = None,
    text: Annotated[OptionalParameter[Markdown], Field(description="What was done, Markdown")] = None,
    keep_estimate: KeepEstimate = False,
) -> SavedWorklog:
    """Log work on an issue."""
    body = await _make_body(time, started, text)
    address = build_path("/rest/api/3/issue/{}/worklog", issue)
    query = _choose_estimate(keep_estimate)
    return await rest_client.fetch_one(context, SavedWorklog, address, method="POST", json=body, query=query)


@tool(hints=CHANGE_HINTS, scopes=[READ_WORK, WRITE_WORK])
async def update_worklog(
    context: Context,
    issue: IssueKey,
    worklog_id: WorklogId,
    time: Annotated[OptionalParameter[SpentTime], Field(description="Such as 1h 30m, 2d, 1.5h")] = None,
    started: Annotated[Timestamp, Field(description="With zone")] = None,
    text: Annotated[OptionalParameter[Markdown], Field(description="New Markdown")] = None,
    keep_estimate: KeepEstimate = False,
) -> SavedWorklog:
    """Change what is given of work that was logged; the rest stays."""
    body = await _make_body(time, started, text)
    if not body:
        raise ToolError("there is nothing to change: give at least one of time, started, text")
    address = build_path("/rest/api/3/issue/{}/worklog/{}", issue, worklog_id)
    before = await rest_client.fetch_before(context, address)
    # The description does not say that what is left out stays.
    kept = {name: before[name] for name in ("comment", "started", "visibility") if before.get(name)}
    if "timeSpent" not in body and "timeSpentSeconds" not in body and "timeSpentSeconds" in before:
        kept["timeSpentSeconds"] = before["timeSpentSeconds"]
    query = _choose_estimate(keep_estimate)
    return await rest_client.fetch_one(context, SavedWorklog, address, method="PUT", json={**kept, **body}, query=query)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def delete_worklog(
    context: Context, issue: IssueKey, worklog_id: WorklogId, keep_estimate: KeepEstimate = False
) -> RemovedFromIssue:
    """Delete work that was logged."""
    address = build_path("/rest/api/3/issue/{}/worklog/{}", issue, worklog_id)
    await rest_client.send_change(context, "DELETE", address, query=_choose_estimate(keep_estimate))
    return RemovedFromIssue(id=worklog_id)


async def _make_body(time: str | None, started: Any, text: str | None) -> dict[str, Any]:
    body: dict[str, Any] = read_time(time) if time else {}
    if isinstance(started, datetime):
        body["started"] = format_started(started)
    if text:
        body["comment"] = await run_in_turns(parse_adf, text, size=len(text))
    return body


def _choose_estimate(keep: bool) -> dict[str, str]:
    return {"adjustEstimate": "leave" if keep else "auto"}


TOOLS = (list_worklogs, add_worklog, update_worklog, delete_worklog)
