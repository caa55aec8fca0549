"""Rules by which events and tasks recur, as iCalendar writes them (RFC 5545 §3.3.10): checked, and put in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from modules.kit.errors import ToolError

FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "second last"}
_PARTS = frozenset(
    {
        "FREQ",
        "INTERVAL",
        "COUNT",
        "UNTIL",
        "BYDAY",
        "BYMONTHDAY",
        "BYMONTH",
        "BYSETPOS",
        "WKST",
        "BYYEARDAY",
        "BYWEEKNO",
    }
)
_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_NUMBERS = re.compile(r"[+-]?[0-9]{1,3}(?:,[+-]?[0-9]{1,3}){0,30}", re.ASCII)
_COUNT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_UNTIL = re.compile(r"[0-9]{4}(-?)[0-9]{2}\1[0-9]{2}(?:T[0-9]{2}(:?)[0-9]{2}\2[0-9]{2}Z?)?", re.ASCII)
_MOMENT = re.compile(r"[0-9]{8}(?:T[0-9]{6}Z?)?", re.ASCII)
_DURATION = re.compile(
    r"P(?:[0-9]{1,4}W|(?=[0-9T])(?:[0-9]{1,4}D)?(?:T(?=[0-9])(?:[0-9]{1,4}H)?(?:[0-9]{1,4}M)?(?:[0-9]{1,4}S)?)?)"
)
_EXAMPLE = "give one such as FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;UNTIL=20261231"


@dataclass(frozen=True, slots=True)
class WeekdayPosition:
    """A day of the week, and for months and years which one: 1 is the first, -1 the last, 0 every one."""

    weekday: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """A rule taken apart. `until` is the last day, None where the rule has none; `others` are the parts that stand in
    no other field, as they are written."""

    frequency: str
    interval: int = 1
    weekdays: tuple[WeekdayPosition, ...] = ()
    month_days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    count: int | None = None
    until: date | None = None
    others: tuple[str, ...] = ()


def parse_recurrence_rule(parameter: str, text: str) -> RecurrenceRule:
    """Parse a rule, with or without ``RRULE:`` before it.

    Raises:
        ToolError: it is none; the text names `parameter` and the part that is wrong.
    """
    parts = _split(parameter, text.strip().upper().removeprefix("RRULE:"))
    frequency = parts.get("FREQ", "")
    if frequency not in FREQUENCIES:
        raise ToolError(f"{parameter}: FREQ must be one of {', '.join(FREQUENCIES)}; {_EXAMPLE}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise ToolError(f"{parameter}: give COUNT or UNTIL, not both (RFC 5545)")
    return RecurrenceRule(
        frequency=frequency,
        interval=_read_count(parameter, "INTERVAL", parts.get("INTERVAL", "1")),
        weekdays=_read_days(parameter, parts.get("BYDAY", "")),
        month_days=_read_numbers(parameter, "BYMONTHDAY", parts, 31),
        months=_read_numbers(parameter, "BYMONTH", parts, 12, is_signed=False),
        positions=_read_numbers(parameter, "BYSETPOS", parts, 366),
        count=_read_count(parameter, "COUNT", parts["COUNT"]) if "COUNT" in parts else None,
        until=_read_until(parameter, parts["UNTIL"]) if "UNTIL" in parts else None,
        others=tuple(f"{name}={parts[name]}" for name in ("WKST", "BYYEARDAY", "BYWEEKNO") if name in parts),
    )


def _split(parameter: str, rule: str) -> Mapping[str, str]:
    parts: dict[str, str] = {}
    for part in rule.split(";"):
        name, separator, value = part.partition("=")
        if not separator or not value or name not in _PARTS:
            raise ToolError(f"{parameter}: {part[:40]!r} is no part of a recurrence rule; {_EXAMPLE}")
        if name in parts:
            raise ToolError(f"{parameter}: {name} stands there twice; give it once")
        parts[name] = value
    return parts


def _read_count(parameter: str, name: str, text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise ToolError(f"{parameter}: {name} must be a number from 1 to 99999, not {text[:20]!r}")
    return int(text)


def _read_numbers(
    parameter: str, name: str, parts: Mapping[str, str], limit: int, *, is_signed: bool = True
) -> tuple[int, ...]:
    text = parts.get(name)
    if text is None:
        return ()
    numbers = [int(one) for one in text.split(",")] if _NUMBERS.fullmatch(text) else [0]
    lowest = -limit if is_signed else 1
    if not all(lowest <= number <= limit and number for number in numbers):
        raise ToolError(f"{parameter}: {name} must be numbers from {lowest} to {limit} but 0, not {text[:40]!r}")
    return tuple(numbers)


def _read_days(parameter: str, text: str) -> tuple[WeekdayPosition, ...]:
    days: list[WeekdayPosition] = []
    for one in text.split(",") if text else ():
        found = _DAY.fullmatch(one)
        if found is None or (found[1] and not 1 <= abs(int(found[1])) <= 53):
            raise ToolError(f"{parameter}: {one[:20]!r} is no day of BYDAY; give MO, TU, or -1FR for the last Friday")
        days.append(WeekdayPosition(found[2], int(found[1] or 0)))
    return tuple(days)


def _read_until(parameter: str, text: str) -> date:
    if _UNTIL.fullmatch(text) is None:
        raise ToolError(f"{parameter}: UNTIL must be a day such as 20261231 or a time in UTC such as 20261231T235959Z")
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        raise ToolError(f"{parameter}: the day {text[:20]} of UNTIL does not exist; give another one") from None


def check_recurrence_dates(parameter: str, text: str) -> None:
    """Check the dates behind the colon of EXDATE or RDATE: days, times, or periods (RFC 5545 §3.8.5).

    Raises:
        ToolError: one is none, or does not exist; the text names `parameter` and the date.
    """
    for one in text.split(","):
        start, slash, end = one.partition("/")
        _check_moment(parameter, start, one)
        if slash and not _DURATION.fullmatch(end):
            _check_moment(parameter, end, one)


def _check_moment(parameter: str, moment: str, text: str) -> None:
    if not _MOMENT.fullmatch(moment):
        raise ToolError(f"{parameter}: {text[:40]!r} is no date; give one such as 20260131 or 20260131T090000")
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        raise ToolError(f"{parameter}: the date {moment} does not exist; give another one") from None


def describe_recurrence_rule(rule: RecurrenceRule) -> str:
    """Describe a rule in words, such as ``every 2 weeks on Monday and Wednesday until 2026-12-31``; "" for one with
    parts that only a calendar understands."""
    if rule.others and not all(one.startswith("WKST=") for one in rule.others):
        return ""
    unit = _UNITS[rule.frequency]
    words = [f"every {unit}" if rule.interval == 1 else f"every {rule.interval} {unit}s"]
    if rule.months:
        words.append(f"in {_join([_MONTH_NAMES[number - 1] for number in rule.months])}")
    if rule.month_days:
        words.append(f"on {_join([_describe_month_day(number) for number in rule.month_days])}")
    if rule.weekdays:
        words.append(f"on {_describe_days(rule)}")
    if rule.count is not None:
        words.append("once" if rule.count == 1 else f"{rule.count} times")
    if rule.until is not None:
        words.append(f"until {rule.until.isoformat()}")
    return " ".join(words)


def _describe_days(rule: RecurrenceRule) -> str:
    if rule.positions:
        days = _join([_DAY_NAMES[WEEKDAYS.index(one.weekday)] for one in rule.weekdays], "or")
        return f"the {_join([_order(number) for number in rule.positions])} {days}"
    named = [
        f"the {_order(one.position)} {_DAY_NAMES[WEEKDAYS.index(one.weekday)]}"
        if one.position
        else _DAY_NAMES[WEEKDAYS.index(one.weekday)]
        for one in rule.weekdays
    ]
    return _join(named)


def _describe_month_day(number: int) -> str:
    return f"day {number}" if number > 0 else "the last day" if number == -1 else f"day {-number} from the end"


def _order(number: int) -> str:
    return _ORDINALS.get(number) or (f"number {number}" if number > 0 else f"number {-number} from the end")


def _join(words: list[str], conjunction: str = "and") -> str:
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), words[-1])))
