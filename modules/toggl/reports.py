"""Time entries of longer ago, from Toggl's Reports API: ``/me/time_entries`` gives about three months only
(https://engineering.toggl.com/docs/track/reports/detailed_reports).

A report is one of a workspace, and of at most 366 days of the account's own zone.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, cast

from modules.kit import Context, VendorAnswer, build_path
from modules.toggl.rest_client import REPORTS, fetch_profile, fetch_workspaces, read_list, send_request

REPORT = "/workspace/{}/search/time_entries"
NEXT_ROW = "x-next-row-number"
PAGE_ROWS = 1_000
MAX_REPORT_DAYS = 366
MAX_ENTRIES = 10_000
A_DAY = timedelta(days=1)
"""A report's days are those of the account's zone, so one more is asked for at both ends."""


class ReportedEntries(NamedTuple):
    """Raw time entries as ``/me/time_entries`` has them, the last answer they were read of, and whether there are
    more."""

    entries: list[Any]
    answer: VendorAnswer | None
    is_incomplete: bool


class ReportPage(NamedTuple):
    """A page of a report, and the number of the first row of the next one; 0 for the last."""

    rows: list[Any]
    answer: VendorAnswer
    next_row: int


async def fetch_reported_entries(context: Context, start: datetime, end: datetime) -> ReportedEntries:
    """Fetch the account's own entries of all its workspaces that began on the days of a time, and around it.

    Raises:
        VendorProblem: Toggl refused it; the text says what to do.
    """
    profile = await fetch_profile(context)
    entries: list[Any] = []
    answer: VendorAnswer | None = None
    for workspace in (await fetch_workspaces(context)).rows:
        address = build_path(REPORT, workspace.id)
        for first, last in _divide_days((start - A_DAY).date(), (end + A_DAY).date()):
            asked: dict[str, Any] = {
                "start_date": f"{first}",
                "end_date": f"{last}",
                "user_ids": [profile.id],
                "order_by": "date",
                "order_dir": "DESC",
                "page_size": PAGE_ROWS,
                "enrich_response": True,
            }
            next_row = 1
            while next_row:
                if len(entries) >= MAX_ENTRIES:
                    return ReportedEntries(entries, answer, is_incomplete=True)
                page = await _fetch_page(context, address, asked, next_row)
                entries += [one for row in page.rows for one in _list_entries(row, workspace.id)]
                answer, next_row = page.answer, page.next_row
    return ReportedEntries(entries, answer, is_incomplete=False)


async def _fetch_page(context: Context, address: str, asked: Mapping[str, Any], row: int) -> ReportPage:
    """Fetch a page of a report. Toggl names the next row in a header where there is one."""
    body = dict(asked) if row == 1 else {**asked, "first_row_number": row}
    answer = await send_request(context, "POST", address, api=REPORTS, json=body, repeatable=True)
    told = answer.headers.get(NEXT_ROW, "")
    next_row = int(told) if told.isascii() and told.isdigit() and len(told) < 10 else 0
    return ReportPage(read_list(answer), answer, next_row if next_row > row else 0)


def _divide_days(first: date, last: date) -> Iterator[tuple[date, date]]:
    """Divide days into spans of which a report gives each, the latest first; `last` belongs to them."""
    while first <= last:
        begin = max(first, last - timedelta(days=MAX_REPORT_DAYS - 1))
        yield begin, last
        last = begin - timedelta(days=1)


def _list_entries(row: Any, workspace: int) -> list[Any]:
    """List the time entries of a row of a report in the form of ``/me/time_entries``; what is no such row as it is."""
    listed = cast("Mapping[str, Any]", row).get("time_entries") if isinstance(row, Mapping) else None
    if not isinstance(listed, list):
        return [row]
    shared = cast("Mapping[str, Any]", row)
    common = {
        "description": shared.get("description"),
        "project_id": shared.get("project_id"),
        "project_name": shared.get("project_name"),
        "client_name": shared.get("client_name"),
        "tags": shared.get("tag_names"),
        "billable": shared.get("billable"),
        "workspace_id": workspace,
    }
    return [_build_entry(common, one) for one in cast("list[Any]", listed)]


def _build_entry(common: Mapping[str, Any], raw: Any) -> Any:
    if not isinstance(raw, Mapping):
        return raw
    one = cast("Mapping[str, Any]", raw)
    start, stop = _write_utc(one.get("start")), _write_utc(one.get("stop"))
    return {**common, "id": one.get("id"), "start": start, "stop": stop, "duration": one.get("seconds")}


def _write_utc(text: Any) -> Any:
    """Write a time in UTC, as all others are; what is none as it is."""
    try:
        moment = datetime.fromisoformat(str(text))
        return moment.astimezone(UTC).isoformat(timespec="seconds") if moment.tzinfo else text
    except (ValueError, OverflowError):
        return text
