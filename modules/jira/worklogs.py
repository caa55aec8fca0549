"""Work that was logged on issues."""

import re
from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, model_validator

from modules.jira import rest_client
from modules.jira.field_values import Moment, Person, format_started
from modules.jira.parameters import READ_WORK, WRITE_WORK, IssueKey, Markdown
from modules.kit import Context, build_path, tool
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf_in_turns
from modules.kit.parameters import (
    ADD_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    Timestamp,
    limit_length,
)
from modules.kit.results import Count, Flag, Line, ResultModel, ResultPage, Text, Word, fit_texts

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


WorkTime = Annotated[str, limit_length(1, 60), AfterValidator(_check_time)]


class JiraWorklog(ResultModel):
    id: Line
    author: Person = ""
    started: Moment = ""
    time: Word = ""
    text: Text = ""
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        return {**found, "time": found.get("timeSpent"), "text": format_adf(found.get("comment"))}


class JiraWorklogs(ResultPage):
    worklogs: list[JiraWorklog]
    total: Count = 0


class SavedWorklog(ResultModel):
    id: Line
    time: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return {**raw, "time": raw.get("timeSpent")} if isinstance(raw, dict) else raw  # pyright: ignore


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_worklogs(
    context: Context, issue: IssueKey, per_page: PerPage = 50, cursor: CursorText = None
) -> JiraWorklogs:
    """Work logged on an issue, oldest first."""
    address = build_path("/rest/api/3/issue/{}/worklog", issue)
    listed = await rest_client.fetch_page(context, address, rows="worklogs", cursor=cursor, per_page=per_page)
    worklogs = fit_texts(await listed.read(JiraWorklog), "text")
    return JiraWorklogs(worklogs=worklogs, nextCursor=listed.next, total=listed.total)


@tool(hints=ADD_HINTS, scopes=[WRITE_WORK])
async def add_worklog(
    context: Context,
    issue: IssueKey,
    time: Annotated[WorkTime, Field(description="Such as 1h 30m, 2d, 1.5h")],
    started: Annotated[Timestamp, Field(description="With zone; now if left out")] = None,
    text: Annotated[OptionalParameter[Markdown], Field(description="What was done, Markdown")] = None,
    keep_estimate: Annotated[bool, Field(description="Leave the remaining estimate as it is")] = False,
) -> SavedWorklog:
    """Log work on an issue."""
    body: dict[str, Any] = read_time(time)
    if isinstance(started, datetime):
        body["started"] = format_started(started)
    if text:
        body["comment"] = await parse_adf_in_turns(text)
    address = build_path("/rest/api/3/issue/{}/worklog", issue)
    query = {"adjustEstimate": "leave" if keep_estimate else "auto"}
    return (await rest_client.send_request(context, "POST", address, json=body, query=query)).read(SavedWorklog)


TOOLS = (list_worklogs, add_worklog)
