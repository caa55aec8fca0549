"""Dates and times of tasks, as Graph writes and reads them (dateTimeTimeZone), and their recurrence."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, cast

from modules.kit import ToolError
from modules.kit.recurrence_rules import (
    WEEKDAYS,
    RecurrenceRule,
    describe_recurrence_rule,
    parse_recurrence_rule,
)
from modules.kit.time_zones import find_iana_zone, load_zone, parse_date, parse_time

_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,9})?Z?", re.ASCII)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_INDEXES = {1: "first", 2: "second", 3: "third", 4: "fourth", -1: "last"}
_KINDS = {
    "daily": "DAILY", "weekly": "WEEKLY", "absoluteMonthly": "MONTHLY", "relativeMonthly": "MONTHLY",
    "absoluteYearly": "YEARLY", "relativeYearly": "YEARLY",
}  # fmt: skip
Raw = Mapping[str, Any]


def write_due(text: str) -> dict[str, str] | None:
    """Write a due date; None, which clears it, for "". To Do has no time of day for it.

    Raises:
        ToolError: it is no date, or a time.
    """
    if not text:
        return None
    if "T" in text:
        raise ToolError("due: To Do keeps the day alone; give a date such as 2026-01-31, and the time as reminder")
    return {"dateTime": f"{parse_date('due', text).isoformat()}T00:00:00", "timeZone": "UTC"}


def write_reminder(text: str, zone: str | None) -> dict[str, Any]:
    """Write a reminder, which "" switches off.

    Raises:
        ToolError: it is no time, or one without a zone.
    """
    if not text:
        return {"isReminderOn": False, "reminderDateTime": None}
    moment = parse_time("reminder", text, zone).astimezone(UTC)
    value = {"dateTime": f"{moment:%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"}
    return {"isReminderOn": True, "reminderDateTime": value}


def format_due(value: Any) -> str:
    """Format a due date: the day, or, where an app stored a time, that time with its zone; "" for none."""
    if not value:
        return ""
    found = get_mapping(value)
    match = _MOMENT.fullmatch(str(found.get("dateTime") or ""))
    if match and match[2] == "00:00:00":
        return match[1]
    return format_moment(found)


def format_moment(value: Any) -> str:
    """Format a time with its offset; with the zone's name behind it where no database knows that."""
    found = get_mapping(value)
    text, name = str(found.get("dateTime") or ""), str(found.get("timeZone") or "UTC")
    match = _MOMENT.fullmatch(text)
    zone = load_zone(find_iana_zone(name))
    if match is None or zone is None:
        return f"{text} {name}" if text else ""
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}").replace(tzinfo=zone).isoformat()
    except ValueError:
        return f"{text} {name}"


def write_recurrence(text: str, start: date | None) -> dict[str, Any] | None:
    """Write a rule as Graph's pattern and range, which begins with the due date; None, which ends it, for "".

    Raises:
        ToolError: it is no rule, there is no due date, or To Do has no such pattern.
    """
    if not text:
        return None
    rule = parse_recurrence_rule("recurrence", text)
    if start is None:
        raise ToolError("recurrence: a task that recurs needs a due date; give due")
    return {"pattern": _write_pattern(rule, start), "range": _write_range(rule, start)}


def _write_pattern(rule: RecurrenceRule, start: date) -> dict[str, Any]:
    pattern: dict[str, Any] = {"interval": rule.interval}
    days = [_DAYS[WEEKDAYS.index(one.weekday)] for one in rule.weekdays]
    positions = {one.position for one in rule.weekdays} | set(rule.positions)
    positions.discard(0)
    _check_pattern(rule, positions)
    match rule.frequency:
        case "DAILY":
            return {**pattern, "type": "daily"}
        case "WEEKLY":
            return {**pattern, "type": "weekly", "daysOfWeek": days or [_DAYS[start.weekday()]]}
        case _:
            unit = "Monthly" if rule.frequency == "MONTHLY" else "Yearly"
            if unit == "Yearly":
                pattern["month"] = rule.months[0] if rule.months else start.month
            if days:
                return {**pattern, "type": f"relative{unit}", "daysOfWeek": days, "index": _INDEXES[positions.pop()]}
            return {**pattern, "type": f"absolute{unit}", "dayOfMonth": (*rule.month_days, start.day)[0]}


def _check_pattern(rule: RecurrenceRule, positions: set[int]) -> None:
    """Refuse what Graph's patterns cannot say."""
    is_by_unit = rule.frequency in ("MONTHLY", "YEARLY")
    by_position = is_by_unit and bool(rule.weekdays)
    wrong = (
        (bool(rule.others), "WKST, BYYEARDAY and BYWEEKNO"),
        (rule.frequency == "DAILY" and bool(rule.weekdays or rule.month_days), "days with FREQ=DAILY; use WEEKLY"),
        (rule.frequency != "YEARLY" and bool(rule.months), "BYMONTH without FREQ=YEARLY"),
        (not is_by_unit and bool(rule.month_days or positions), "BYMONTHDAY or positions of days with FREQ=WEEKLY"),
        (bool(rule.positions) and not by_position, "BYSETPOS without BYDAY"),
        (len(rule.month_days) > 1 or len(rule.months) > 1, "several days of a month or several months"),
        (bool(rule.month_days) and (by_position or rule.month_days[0] < 1), "such a BYMONTHDAY; give 1 to 31"),
        (by_position and (len(positions) != 1 or not positions <= _INDEXES.keys()), "such a BYDAY; give 1MO or -1FR"),
    )
    for is_wrong, what in wrong:
        if is_wrong:
            raise ToolError(f"recurrence: To Do does not have {what}")


def _write_range(rule: RecurrenceRule, start: date) -> dict[str, Any]:
    begin = {"startDate": start.isoformat()}
    if rule.count is not None:
        return {"type": "numbered", **begin, "numberOfOccurrences": rule.count}
    if rule.until is not None:
        if rule.until < start:
            raise ToolError("recurrence: UNTIL is before the due date; give a later day")
        return {"type": "endDate", **begin, "endDate": rule.until.isoformat()}
    return {"type": "noEnd", **begin}


def format_recurrence(value: Any) -> str:
    """Format a recurrence as the rule by which it can be given again; "" for none, and for one that is unknown."""
    found = get_mapping(value)
    pattern, span = _get_part(found, "pattern"), _get_part(found, "range")
    kind = str(pattern.get("type") or "")
    if kind not in _KINDS:
        return ""
    parts = [f"FREQ={_KINDS[kind]}"]
    if (pattern.get("interval") or 1) != 1:
        parts.append(f"INTERVAL={pattern['interval']}")
    if kind.endswith("Yearly") and pattern.get("month"):
        parts.append(f"BYMONTH={pattern['month']}")
    if kind.startswith("absolute") and pattern.get("dayOfMonth"):
        parts.append(f"BYMONTHDAY={pattern['dayOfMonth']}")
    days = [WEEKDAYS[_DAYS.index(one)] for one in get_list(pattern.get("daysOfWeek")) if one in _DAYS]
    if days and kind != "daily":
        parts.append(f"BYDAY={','.join(f'{_find_position(kind, pattern, days)}{one}' for one in days)}")
    if kind.startswith("relative") and len(days) > 1:
        parts.append(f"BYSETPOS={_read_index(pattern)}")
    if span.get("type") == "numbered":
        parts.append(f"COUNT={span.get('numberOfOccurrences')}")
    if span.get("type") == "endDate":
        parts.append(f"UNTIL={str(span.get('endDate')).replace('-', '')}")
    return ";".join(parts)


def _find_position(kind: str, pattern: Raw, days: list[str]) -> str:
    return str(_read_index(pattern)) if kind.startswith("relative") and len(days) == 1 else ""


def _read_index(pattern: Raw) -> int:
    return next((number for number, name in _INDEXES.items() if name == pattern.get("index")), 1)


def describe_recurrence(rule: str) -> str:
    """Describe a rule in words; "" for none."""
    try:
        return describe_recurrence_rule(parse_recurrence_rule("recurrence", rule)) if rule else ""
    except ToolError:
        return ""


def _get_part(value: Raw, name: str) -> Raw:
    return get_mapping(value.get(name))


def get_mapping(value: Any) -> Raw:
    """Return an object of Graph's JSON; an empty one for anything else."""
    return cast("Raw", value) if isinstance(value, dict) else {}


def get_list(value: Any) -> list[Any]:
    """Return a list of Graph's JSON; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []
