"""Lines of MCPist's log: read from its files or from a pipe, chosen, and written for people."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from core.observability.log_file import list_log_files

LEVELS = ("debug", "info", "warning", "error", "critical")
CALL_EVENT = "tool_run"
"""The event of a line that tells of a call, which has no level either: a failed one counts as a warning."""
READ_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 20
"""Longer ones, which MCPist does not write, are shown in pieces."""
_SHOWN_FIRST = frozenset({"timestamp", "level", "logger", "message", "event", "pid", "exception"})
_OF_A_CALL = frozenset({"operation", "tool_name", "parameters", "response_time_ms", "success", "error"})


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. `source` is what a collector wrote before it, such as ``gateway-1  |``; `fields` are empty where the
    line is none of MCPist's own."""

    raw: str
    source: str
    fields: dict[str, Any]

    @property
    def event(self) -> str:
        """The stable name of what happened; empty where it has none."""
        return str(self.fields.get("event") or self.fields.get("operation") or "")

    @property
    def level(self) -> str:
        """One of ``LEVELS``."""
        if self.event == CALL_EVENT:
            return "info" if self.fields.get("success") else "warning"
        level = self.fields.get("level")
        return level if level in LEVELS else "info"

    @property
    def at(self) -> datetime | None:
        """When it was written; None where that is not told."""
        try:
            return datetime.fromisoformat(self.fields["timestamp"])
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are shown; what is empty or None admits all."""

    level: str = "debug"
    event: str = ""
    request_id: str = ""
    since: datetime | None = None

    def admits(self, line: LogLine) -> bool:
        """Check whether a line is shown."""
        if LEVELS.index(line.level) < LEVELS.index(self.level):
            return False
        if self.event and line.event != self.event:
            return False
        if self.request_id and line.fields.get("request_id") != self.request_id:
            return False
        at = line.at
        return self.since is None or (at is not None and at.astimezone() >= self.since)


def parse_line(text: str) -> LogLine:
    """Parse a line; whatever is no JSON object is shown as it is."""
    source, brace, rest = text.partition("{")
    try:
        fields: Any = orjson.loads(brace + rest)
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict):
        return LogLine(text, "", {})
    return LogLine(text, source.strip(), cast("dict[str, Any]", fields))


def format_line(line: LogLine) -> str:
    """Format a line for people: local time, level, what happened, then ``name=value`` of everything else; of an
    exception its causes, a line each."""
    if not line.fields:
        return line.raw
    at = line.at
    time = "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    is_call = line.event == CALL_EVENT
    level = "CALL" if is_call else line.level.upper()
    text = _format_call(line.fields) if is_call else _format_message(line)
    left = _SHOWN_FIRST | _OF_A_CALL if is_call else _SHOWN_FIRST
    named = [f"{name}={_format_value(value)}" for name, value in line.fields.items() if name not in left]
    causes = [
        f"\n    {cause.get('type')} at {' < '.join(map(str, cause.get('at', ())))}" for cause in _list_causes(line)
    ]
    whole = " ".join(filter(None, (line.source, time, f"{level:<7}", text, *named)))
    return whole.replace("\n", "\\n") + "".join(causes)


def _format_call(fields: dict[str, Any]) -> str:
    return f"{fields.get('tool_name')} {fields.get('error') or 'ok'} {fields.get('response_time_ms')} ms"


def _format_message(line: LogLine) -> str:
    return f"{line.event}: {line.fields.get('message', '')}" if line.event else str(line.fields.get("message", ""))


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _list_causes(line: LogLine) -> list[dict[str, Any]]:
    causes = line.fields.get("exception")
    if not isinstance(causes, list):
        return []
    return [cast("dict[str, Any]", cause) for cause in cast("list[Any]", causes) if isinstance(cause, dict)]


class LogReader:
    """Reads the log whose newest file is `path`, from its oldest line on; each :meth:`read` goes on where the last one
    ended, also in a file that was begun meanwhile."""

    def __init__(self, path: Path) -> None:
        """Raises:
        FileNotFoundError: there is no log.
        """
        self._path = path
        self._newest = path.open("rb")
        older = list_log_files(path)[:-1]
        self._waiting = [file.open("rb") for file in older if file.exists()]
        self._rest = b""

    def read(self) -> Iterator[str]:
        """Read the lines that are there."""
        while self._waiting:
            with self._waiting.pop(0) as file:
                yield from self._read_file(file)
        yield from self._read_file(self._newest)
        while self._is_renamed():
            # What was written between the last look and the renaming is in the old file.
            yield from self._read_file(self._newest)
            self._newest.close()
            self._newest = self._path.open("rb")
            yield from self._read_file(self._newest)

    def close(self) -> None:
        """Close the files."""
        for file in (*self._waiting, self._newest):
            file.close()

    def _is_renamed(self) -> bool:
        try:
            return not os.path.samestat(os.fstat(self._newest.fileno()), self._path.stat())
        except FileNotFoundError:
            return False  # for a moment, between two names

    def _read_file(self, file: BinaryIO) -> Iterator[str]:
        while block := file.read(READ_BYTES):
            *lines, self._rest = (self._rest + block).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
            if len(self._rest) > MAX_LINE_BYTES:
                yield self._rest.decode(errors="replace")
                self._rest = b""


def read_pipe(stream: BinaryIO) -> Iterator[str]:
    """Read the lines of a pipe until it ends."""
    while line := stream.readline(MAX_LINE_BYTES):
        yield line.decode(errors="replace").rstrip("\n")
