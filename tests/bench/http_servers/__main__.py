"""``python -m tests.bench.http_servers``: print what each HTTP server withstands, and the cost of a request."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.http_servers.attacks import ATTACKS, Verdict
from tests.bench.options import Options
from tests.bench.peers.install import Missing, Recipe, installed
from tests.bench.report import environment, loads
from tests.bench.rounds import interleaved
from tests.bench.spawn import REPOSITORY, free_port, listening
from tests.bench.wrk import Request, Sample, Target, available

GRANIAN = Recipe("granian", ("granian[uvloop]==2.8.7",), ((3, 11), (3, 12), (3, 13)))
REQUEST = Request("/call", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":@N@}}', '"size": ', ("bench",))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server and how it is started; `argv` gets the port at its end."""

    label: str
    argv: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.http_servers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (5)")
    parser.add_argument("--seconds", type=int, default=2, help="length of one loaded run (2)")
    parser.add_argument("--skip-attacks", action="store_true", help="measure speed only")
    given = parser.parse_args()
    candidates = list(_candidates())
    print(", ".join(f"{name} {value}" for name, value in environment().items()), end="\n\n")
    with tempfile.TemporaryDirectory() as folder:
        if not given.skip_attacks:
            print(_table(candidates, Path(folder)), end="\n\n")
        if available():
            print(loads(_measured(candidates, Path(folder), Options(rounds=given.rounds, seconds=given.seconds))))


def _candidates() -> Iterator[Candidate]:
    ours = (sys.executable, "-m", "tests.bench.http_servers.serve")
    yield Candidate("mcpist (httptools, own protocol)", (*ours, "mcpist"))
    yield Candidate("uvicorn, httptools", (*ours, "httptools"))
    yield Candidate("uvicorn, h11", (*ours, "h11"))
    try:
        python = installed(GRANIAN, _progress)
    except Missing as error:
        _progress(f"!!! granian IS LEFT OUT: {error}")
        return
    options = ("--interface", "asginl", "--loop", "uvloop", "--no-ws", "--http", "1", "--log-level", "critical")
    app = "tests.bench.http_servers.application:app"
    yield Candidate("granian", (str(python), "-m", "granian", app, "--host", "127.0.0.1", *options, "--port"))


@contextlib.contextmanager
def _running(candidate: Candidate, folder: Path) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    port = free_port()
    with listening([*candidate.argv, str(port)], folder / "log", port, folder=REPOSITORY) as started:
        yield port, started.pid


def _table(candidates: list[Candidate], folder: Path) -> str:
    lines = [f"| | {' | '.join(one.label for one in candidates)} |", "|---" * (len(candidates) + 1) + "|"]
    for name, attack in ATTACKS.items():
        verdicts: list[Verdict] = []
        for candidate in candidates:
            _progress(f"{name}: {candidate.label}")
            with _running(candidate, folder) as (port, pid):
                verdicts.append(attack(port, pid))
        lines.append(f"| {name} | {' | '.join(one.text if one.held else f'**{one.text}**' for one in verdicts)} |")
    return "\n".join(lines)


def _measured(candidates: list[Candidate], folder: Path, options: Options) -> list[Sample]:
    with contextlib.ExitStack() as stack:
        running = [(one.label, *stack.enter_context(_running(one, folder))) for one in candidates]
        pids = {pid for _, _, pid in running}
        targets = [Target(label, port, REQUEST, (pid,), tuple(pids - {pid})) for label, port, pid in running]
        return [one for samples in interleaved(targets, options.connections, options, _progress) for one in samples]


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
