"""Log lines on standard error: standard output is the protocol's under `mcpist stdio` and the script's under --json.

Every logger of every library ends in one handler here. Lines never hold an exception's text, which may quote data.
"""

import contextvars
import logging
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO, cast
from uuid import UUID

import orjson

from core.observability.log_file import LogFile
from core.observability.redaction import MAX_LENGTH, is_secret_name, redact
from core.secret import MASK, Secret

LogFormat = Literal["json", "text"]

MAX_TEXT_LENGTH = 8_000
MAX_ITEMS = 20
"""Elements that are logged of a list or mapping."""
MAX_FRAMES = 20
MAX_CAUSES = 5

current_request: contextvars.ContextVar[str] = contextvars.ContextVar("current_request", default="")
"""The id of the request that this task works for; it is set once where requests enter."""

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}
_PLAIN = (str, int, float, bool, type(None), UUID, datetime)
# asyncio puts the repr of a future, and with it the text of its exception, on the second line of its messages.
_FIRST_LINE_ONLY = ("asyncio",)
# authlib logs the tokens that it issues at DEBUG; the other two log whole requests, and hpack every header.
_QUIET = ("alembic.runtime.plugins", "httpx2")  # a line for each plugin at every migration; whole URLs
_NEVER_DEBUG = ("authlib", "urllib3", "httpcore2", "hpack")


def configure_logs(level: str, form: str, stream: TextIO | None = None, *, file: LogFile | None = None) -> LogFormat:
    """Send every logger's lines to `stream` (standard error) as ``json`` or ``text``, and to `file` as JSON; give back
    which.

    `form` is ``json``, ``text`` or ``auto``: text on a terminal, else JSON.
    """
    target: TextIO = sys.stderr if stream is None else stream
    log_format = resolve_format(form, target)
    handler = logging.StreamHandler(target)
    handler.setFormatter(JsonLineFormatter() if log_format == "json" else TextLineFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    if file is not None:
        root.addHandler(_LogFileHandler(file))
    root.setLevel(level.upper())
    for name in _NEVER_DEBUG:
        logging.getLogger(name).setLevel(max(logging.INFO, root.level))
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    # uvicorn's access lines repeat what the call log says and hold whole URLs.
    logging.getLogger("uvicorn.access").disabled = True
    for name in ("uvicorn", "uvicorn.error", "alembic"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a line that cannot be written is lost; its traceback would quote it
    return log_format


def resolve_format(form: str, stream: TextIO) -> LogFormat:
    """Resolve ``auto`` for `stream`; the other two formats are returned unchanged."""
    if form == "auto":
        return "text" if stream.isatty() else "json"
    return "text" if form == "text" else "json"


def get_log_file() -> LogFile | None:
    """Return the file that :func:`configure_logs` was given."""
    kept = (handler.file for handler in logging.getLogger().handlers if isinstance(handler, _LogFileHandler))
    return next(kept, None)


class _LogFileHandler(logging.Handler):
    def __init__(self, file: LogFile) -> None:
        super().__init__()
        self.file = file
        self.setFormatter(JsonLineFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.file.write(self.format(record).encode() + b"\n")
        except Exception:  # noqa: BLE001 as logging's own handlers: no caller fails because it logs
            self.handleError(record)


class JsonLineFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": format_message(record),
            "pid": record.process,
        }
        fields = extract_fields(record)
        if "event" in fields:
            line["event"] = fields.pop("event")
        if request_id := current_request.get():
            line["request_id"] = request_id
        last: dict[str, Any] = {}
        if record.exc_info and record.exc_info[1] is not None:
            last["exception"] = list(iterate_causes(record.exc_info[1]))
        text = _encode({**line, **fields, **last})
        if len(text) > MAX_LENGTH:  # scrub() would cut it into invalid JSON
            text = _encode({**line, "fields_left_out": len(fields), **last})
        return redact(text)


class TextLineFormatter(logging.Formatter):
    """Text for a terminal: time, level, logger and message, then ``name=value`` of every field, `event` first."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        fields = extract_fields(record)
        if request_id := current_request.get():
            fields.setdefault("request_id", request_id)
        event = f" event={fields.pop('event')}" if "event" in fields else ""
        text = "".join(f" {name}={value}" for name, value in fields.items())
        lines = [f"{time} {record.levelname:<7} {record.name}: {format_message(record)}{event}{text}"]
        if record.exc_info and record.exc_info[1] is not None:
            lines += [f"  {cause['type']} at {' < '.join(cause['at'])}" for cause in iterate_causes(record.exc_info[1])]
        return "\n".join(redact(_strip_control_characters(line[:MAX_LENGTH])) for line in lines)


def _encode(line: dict[str, Any]) -> str:
    return orjson.dumps(line, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS).decode()


def format_message(record: logging.LogRecord) -> str:
    """Format the message; exceptions among its arguments become their type's name, like everywhere here."""
    args = record.args
    if isinstance(args, tuple):
        args = tuple(_get_type_name(arg) if isinstance(arg, BaseException) else arg for arg in args)
    text = str(record.msg) if not isinstance(record.msg, BaseException) else _get_type_name(record.msg)
    try:
        text = text % args if args else text
    except (TypeError, ValueError, KeyError):
        text += " (arguments do not fit the message)"
    if record.name.startswith(_FIRST_LINE_ONLY):
        text = text.partition("\n")[0]
    return _sanitize_text(text)


def extract_fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields that `extra` added to the record; secrets are masked by name, objects reduced to their type."""
    extra_items = (item for item in record.__dict__.items() if item[0] not in _STANDARD)
    return {name: _sanitize_field(name, value) for name, value in extra_items}


def iterate_causes(error: BaseException) -> Iterator[dict[str, Any]]:
    """Type and places in the source (innermost first) of an exception and of those that led to it; never a text."""
    seen_ids: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen_ids and len(seen_ids) < MAX_CAUSES:
        seen_ids.add(id(current))
        yield {"type": _get_type_name(current), "at": _list_frames(current)}
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _list_frames(error: BaseException) -> list[str]:
    frames: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        frames.append(f"{os.sep.join(path.parts[-2:])}:{trace.tb_lineno}")
        trace = trace.tb_next
    return frames[::-1][:MAX_FRAMES]


def _sanitize_field(name: str, value: Any, depth: int = 3) -> Any:
    return MASK if is_secret_name(name) else _sanitize_value(value, depth)


def _sanitize_value(value: Any, depth: int = 3) -> Any:
    if isinstance(value, str):
        return _sanitize_text(value)
    if isinstance(value, _PLAIN) and (not isinstance(value, int) or abs(value) < 1 << 63):
        return value
    if isinstance(value, Path | Secret):
        return str(value)
    if depth and isinstance(value, dict):
        pairs = islice(cast("dict[Any, Any]", value).items(), MAX_ITEMS)
        return {(text := _sanitize_text(str(name))): _sanitize_field(text, inner, depth - 1) for name, inner in pairs}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_sanitize_value(inner, depth - 1) for inner in islice(cast("list[Any]", value), MAX_ITEMS)]
    return _get_type_name(value)


def _sanitize_text(value: str) -> str:
    """Cut the text to its limit and escape lone surrogates, for which UTF-8 has no form."""
    return value[:MAX_TEXT_LENGTH].encode(errors="backslashreplace").decode()


def _get_type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _strip_control_characters(text: str) -> str:
    """Escape control characters: a value must not be able to forge a log line or to control the terminal."""
    return "".join(sign if sign.isprintable() or sign == " " else repr(sign)[1:-1] for sign in text)
