"""Dates as Notion takes them: a start, perhaps an end and a zone
(https://developers.notion.com/reference/page-property-values#date)."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, cast

from modules.kit import ToolError
from modules.kit.time_zones import is_date, load_zone, parse_date, parse_time

_OFFSET = re.compile(r"(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})", re.ASCII)
_DATE_CONDITIONS = frozenset({"date", "created_time", "last_edited_time"})
_BOUNDS = frozenset({"equals", "before", "after", "on_or_before", "on_or_after"})


def parse_date_text(name: str, text: str, zone_sign: str = " ") -> dict[str, Any]:
    """Parse ``start`` or ``start/end``, with a zone behind `zone_sign` where there is one.

    Raises:
        ToolError: a date or a time is none, has no zone, or the end is before the start; the text names `name`.
    """
    span, _, zone = text.strip().partition(zone_sign)
    start, slash, end = span.partition("/")
    made = {"start": start, **({"end": end} if slash else {}), **({"time_zone": zone} if zone else {})}
    return check_date(name, made)


def check_date(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Check Notion's object of a date; what it has beside start, end and time_zone stays.

    Raises:
        ToolError: as :func:`parse_date_text`.
    """
    made, zone = dict(value), value.get("time_zone")
    if zone is not None and (not isinstance(zone, str) or load_zone(zone) is None):
        raise ToolError(f"{name}: {str(zone)[:40]!r} is no IANA time zone; give one such as Asia/Tokyo")
    start = _parse_moment(name, value.get("start"), zone)
    if value.get("end") is not None:
        end = _parse_moment(name, value["end"], zone)
        if _is_before(end, start):
            raise ToolError(f"{name}: the end, {value['end']}, is before the start, {value['start']}; give a later end")
    return made


def check_filter(value: object) -> None:
    """Check the dates in a filter of a data source; values that begin with a letter, such as ``today``, are Notion's.

    Raises:
        ToolError: one is none, or is a time without its offset; the text names ``filter``.
    """
    if isinstance(value, list):
        for one in cast("list[object]", value):
            check_filter(one)
        return
    if not isinstance(value, dict):
        return
    for name, inner in cast("dict[str, object]", value).items():
        if name in _DATE_CONDITIONS and isinstance(inner, dict):
            _check_condition(name, cast("dict[str, object]", inner))
        check_filter(cast("object", inner))


def _check_condition(name: str, condition: Mapping[str, object]) -> None:
    for bound in _BOUNDS & condition.keys():
        given = condition[bound]
        if isinstance(given, str) and given[:1].isdigit():
            _parse_moment(f"filter: {name}.{bound}", given, None)


def _parse_moment(name: str, text: object, zone: str | None) -> date:
    if not isinstance(text, str) or not text:
        raise ToolError(f"{name}: a date has a start such as 2026-01-31, or 2026-01-31/2026-02-01 with its end")
    if is_date(text):
        return parse_date(name, text)
    has_offset = _OFFSET.fullmatch(text[16:].lstrip(":.0123456789"))
    moment = parse_time(name, text, zone or "UTC")
    if zone is None and not has_offset:  # Notion would take it for UTC
        raise ToolError(f"{name}: {text[:40]} has no zone: give an offset, as in 2026-01-31T09:00+09:00, or a zone")
    return moment


def _is_before(end: date, start: date) -> bool:
    if isinstance(end, datetime) and isinstance(start, datetime):
        return end < start
    return _get_day(end) < _get_day(start)


def _get_day(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
