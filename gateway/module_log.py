"""The log of a module's own events (modules.kit.ModuleLog), through the product's log and its redaction."""

import logging
import re
from functools import cache

from modules.kit.module_log import LogValue

MAX_VALUE_LENGTH = 200
_EVENT = re.compile(r"[a-z][a-z0-9_]{0,62}")
_RESERVED = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "event", "module_name"}


class NamedModuleLog:
    """Implements :class:`modules.kit.ModuleLog` by the logger ``modules.<name>``."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"modules.{name}")
        self._name = name

    def info(self, event: str, message: str, **fields: LogValue) -> None:
        self._write(logging.INFO, event, message, fields)

    def warning(self, event: str, message: str, **fields: LogValue) -> None:
        self._write(logging.WARNING, event, message, fields)

    def error(self, event: str, message: str, **fields: LogValue) -> None:
        self._write(logging.ERROR, event, message, fields)

    def _write(self, level: int, event: str, message: str, fields: dict[str, LogValue]) -> None:
        if not _EVENT.fullmatch(event):
            raise ValueError("an event has a name in snake_case of at most 63 characters")
        shown = {
            name if name not in _RESERVED else f"{name}_": value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value
            for name, value in fields.items()
        }
        extra = {**shown, "event": f"module_{event}", "module_name": self._name}
        text = message[:MAX_VALUE_LENGTH]
        self._logger.log(level, "%s", text, extra=extra)  # log-event: the module's own, checked above


@cache
def get_module_log(name: str) -> NamedModuleLog:
    """Return the log of a module."""
    return NamedModuleLog(name)
