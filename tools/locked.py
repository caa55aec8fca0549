"""Read requirements/*.txt as `make lock` writes them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"

HASHES = r"(?P<hashes>(?:    --hash=\S+(?: \\)?\n)+)"
ENTRY = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?: ; (?P<marker>[^\\]+?))? \\\n" + HASHES, re.MULTILINE)
_VIA = re.compile(r"    # via(?: (?P<one>\S+)$|(?P<list>(?:\n    #   .+)+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Locked:
    """One pinned package. `hashes` are the SHA-256 of all files of its release, `wanted_by` the packages that need it
    ("mcpist" is this one), and `marker` says where it is installed ("" everywhere)."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    wanted_by: tuple[str, ...]


def read_locked(name: str) -> list[Locked]:
    """The packages of requirements/`name`.txt, by name."""
    text = (LOCKS / f"{name}.txt").read_text("utf-8")
    entries = list(ENTRY.finditer(text))
    ends = [entry.start() for entry in entries[1:]] + [len(text)]
    found = [
        Locked(
            entry["name"],
            entry["version"],
            entry["marker"] or "",
            tuple(re.findall(r"--hash=sha256:(\S+)", entry["hashes"])),
            tuple(sorted(_wanted_by(text[entry.end() : end]))),
        )
        for entry, end in zip(entries, ends, strict=True)
    ]
    return sorted(found, key=lambda one: one.name)


def _wanted_by(comments: str) -> Iterator[str]:
    """The names after `# via`: `uv` puts the list of a source file there too, as `mcpist (pyproject.toml)`."""
    via = _VIA.search(comments)
    if via is None:
        return
    lines = [via["one"]] if via["one"] else [line.strip("# ") for line in via["list"].strip("\n").split("\n")]
    for line in lines:
        if not line.startswith("-c "):
            yield line.partition(" ")[0]
