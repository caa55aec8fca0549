"""Print the versions of the system's programs that the checks and tests use, and fail where one is too old.

    python -m tools.system_versions

They are not pinned: a distribution replaces a version by the next one with its security fixes, and a pin on what its
mirrors no longer have fails every build (docs/decisions/0037-supply-chain.md). One that is missing is not this
program's to judge: what needs it says so.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SECONDS = 30


@dataclass(frozen=True, slots=True)
class Program:
    """`names` are what it may be called, `ask` how it tells its version, and `least` what it has to be: `why`."""

    names: tuple[str, ...]
    ask: str
    least: tuple[int, ...]
    why: str


PROGRAMS = (
    Program(("make",), "--version", (4, 0), "--output-sync, by which parallel checks stay readable"),
    Program(("gcc",), "--version", (9,), "compiles the verifier that Spin writes"),
    Program(("spin",), "-V", (6, 5), "the verdict on docs/refresh.pml; the model was written with 6.5"),
    Program(
        ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"), "--version", (112,),
        "nested CSS and a headless mode that is the same engine as with a window",
    ),
    Program(("nginx", "/usr/sbin/nginx"), "-v", (1, 18), "the proxy before MCPist of the tests"),
    Program(("pgbouncer", "/usr/sbin/pgbouncer"), "--version", (1, 12), "the pooler before PostgreSQL of the tests"),
    Program(("psql",), "--version", (14,), "the server with TLS that the tests of client certificates start"),
    Program(("promtool",), "--version", (2, 40), "the tests of deploy/prometheus"),
    Program(("wrk",), "-v", (4, 1), "the numbers of `make bench`"),
)  # fmt: skip


def version_in(text: str) -> tuple[int, ...] | None:
    """The first number with dots in what a program says of itself, or the first number."""
    found = re.search(r"\d+(?:\.\d+)+", text) or re.search(r"\d+", text)
    return tuple(map(int, found[0].split("."))) if found else None


def check_versions(programs: Sequence[Program] = PROGRAMS) -> Iterator[tuple[str, bool]]:
    """A line for each program, and whether it will do."""
    for one in programs:
        path = next((found for name in one.names if (found := shutil.which(name))), None)
        if path is None:
            yield f"{one.names[0]}: missing", True
            continue
        ran = subprocess.run([path, one.ask], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        version = version_in(ran.stdout + ran.stderr)
        fits = version is not None and version >= one.least
        shown = ".".join(map(str, version)) if version else "of an unknown version"
        least = ".".join(map(str, one.least))
        yield f"{one.names[0]} {shown}" + ("" if fits else f": too old, {least} is needed for {one.why}"), fits


def main() -> int:
    fits = True
    for line, fine in check_versions():
        print(f"mcpist: {line}", file=sys.stderr)
        fits = fits and fine
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
