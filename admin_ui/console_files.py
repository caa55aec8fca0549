"""Files of the console as the build has left them (tools/console.py), in memory: what runs is of one build."""

import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

ENCODINGS = MappingProxyType({"br": ".br", "gzip": ".gz"})
"""Content codings that the build writes, best first, with the ending of their files."""

_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    """One file. `encoded` are its bytes by content coding."""

    media_type: str
    content: bytes
    encoded: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def is_console_built() -> bool:
    """Check whether this installation has the files of the console."""
    return (files("admin_ui") / "console_dist" / "stamp").is_file()


def load_console_files() -> Mapping[str, ConsoleFile]:
    """Load every file by its path below ``/console/``; none where the console has not been built."""
    folder = files("admin_ui") / "console_dist"
    if not is_console_built():
        return {}
    found = {path: entry.read_bytes() for path, entry in _walk(folder)}
    return {path: _build_file(path, found) for path in found if not path.endswith((*ENCODINGS.values(), "stamp"))}


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry


def _build_file(path: str, found: Mapping[str, bytes]) -> ConsoleFile:
    ending = path[path.rfind(".") :]
    media_type = _TYPES.get(ending) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    encoded = {name: found[path + end] for name, end in ENCODINGS.items() if path + end in found}
    return ConsoleFile(media_type, found[path], encoded)
