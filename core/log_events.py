"""Fields that log lines share: every call of a logger carries ``extra={"event": ...}``, a stable snake_case name.

An exception is logged as `error`, its type's name, and `location`, never with its text, which may quote data.
"""

import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = tuple(
    f"{_ROOT / name}/"
    for name in ("admin_ui", "broker", "cli", "core", "gateway", "jobs", "modules", "search", "server")
)
_LIBRARIES = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def error_location(error: BaseException) -> str:
    """Return ``file:line`` of the innermost frame of an exception that is no library's.

    Returns the innermost frame of all where every frame is a library's, and "?" for an exception without a traceback.
    """
    innermost, own_frame = "?", ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        innermost = f"{_shorten_path(file)}:{trace.tb_lineno}"
        if _is_ours(file):
            own_frame = innermost
        trace = trace.tb_next
    return own_frame or innermost


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return the fields `error` and `location` that the log line of an unexpected exception carries."""
    return {"error": type(error).__name__, "location": error_location(error)}


def _is_ours(file: str) -> bool:
    # An installed wheel lies among the libraries, so our packages are looked for first.
    return file.startswith(_PACKAGES) or not file.startswith((*_LIBRARIES, "<"))


def _shorten_path(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(_ROOT)) if path.is_relative_to(_ROOT) else "/".join(path.parts[-2:])
