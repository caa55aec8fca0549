"""``python -m tests.bench.peers``: install the peers, measure MCPist beside them, print tables on standard output."""

import argparse
import sys

from tests.bench.lab import lab
from tests.bench.options import Options
from tests.bench.peers.catalogue import PEERS, Peer
from tests.bench.peers.measure import measure
from tests.bench.report import environment, shown
from tests.bench.wrk import INSTALL, available

NAMES = tuple(peer.recipe.name for peer in PEERS)


def main(argv: list[str] | None = None) -> None:
    options, peers = parse(argv)
    if not available():
        raise SystemExit(f"P2 cannot be measured: {INSTALL}")
    where = environment()
    with lab(options, _progress) as servers:
        results = measure(servers, peers)
    print(shown(where, results, as_json=options.as_json))


def parse(argv: list[str] | None) -> tuple[Options, list[Peer]]:
    """The command line; a wrong one ends the program."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), help=f"some of {', '.join(NAMES)}, separated by commas")
    parser.add_argument("--quick", action="store_true", help="see that it works: one short round at one connection")
    parser.add_argument("--json", dest="as_json", action="store_true", help="one document of JSON instead of tables")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (3)")
    parser.add_argument("--seconds", type=int, default=8, help="length of one loaded run (8; peers are slow)")
    given = vars(parser.parse_args(argv))
    wanted = [name.strip().lower() for name in given.pop("only").split(",") if name.strip()]
    if unknown := set(wanted) - set(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if given["quick"]:
        given |= {"rounds": 1, "seconds": 3, "connections": (1,)}
    return Options(**given), [peer for peer in PEERS if peer.recipe.name in wanted]


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
