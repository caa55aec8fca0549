"""The log of a module's own events."""

from typing import Protocol

LogValue = str | int | float | bool | None


class ModuleLog(Protocol):
    """Log of a module. `event` is a stable name in snake_case, by which operators search; `message` is the same text
    every time, without data. What varies goes into `fields`: counts, durations, ids; never a credential, an argument or
    what a vendor has answered. Lines go through the product's redaction."""

    def info(self, event: str, message: str, **fields: LogValue) -> None:
        """Log what happened as it should."""
        ...

    def warning(self, event: str, message: str, **fields: LogValue) -> None:
        """Log what an operator may want to look into."""
        ...

    def error(self, event: str, message: str, **fields: LogValue) -> None:
        """Log what an operator has to look into."""
        ...
