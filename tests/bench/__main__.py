"""``python -m tests.bench``: measure, and print tables on standard output. What happens meanwhile goes to the other."""

import argparse
import sys
from collections.abc import Callable

from tests.bench.lab import Lab, lab
from tests.bench.measures import (
    audit_pages,
    batch,
    connections,
    documents,
    figures,
    graph,
    idle,
    items,
    jobs,
    lease,
    listing,
    memory,
    modules,
    neighbour,
    path,
    replicas,
    search,
    search_quality,
    start,
    streams,
    tenants,
    tokens,
)
from tests.bench.options import Options
from tests.bench.report import Result, environment, shown
from tests.bench.wrk import INSTALL, available

Measure = Callable[[Lab], list[Result]]

# What needs no load first: an idle product is one that nobody has used much.
MEASURES: tuple[tuple[frozenset[str], bool, Measure], ...] = (
    (frozenset({"P10"}), False, tokens.measure),
    (frozenset({"SQ"}), False, search_quality.measure),
    (frozenset({"MD"}), False, documents.measure),
    (frozenset({"FG"}), False, figures.measure),
    (frozenset({"CN"}), False, connections.measure),
    (frozenset({"AL"}), False, audit_pages.measure),
    (frozenset({"JB"}), False, jobs.measure),
    (frozenset({"SE"}), False, search.measure),
    (frozenset({"IT"}), False, items.measure),
    (frozenset({"P9"}), False, start.measure),
    (frozenset({"ST"}), False, streams.measure),
    (frozenset({"P13"}), False, idle.measure),
    (frozenset({"P6"}), False, batch.measure),
    (frozenset({"P7"}), False, lease.measure),
    (frozenset({"P5"}), True, listing.measure),
    (frozenset({"P1", "P3", "P4"}), True, path.measure),
    (frozenset({"PM"}), True, modules.measure),
    (frozenset({"P11"}), True, replicas.measure),
    (frozenset({"KG"}), True, graph.measure),
    (frozenset({"P12"}), True, tenants.measure),
    (frozenset({"NB"}), True, neighbour.measure),
    (frozenset({"P8"}), True, memory.measure),
)
NAMES = frozenset[str]().union(*(names for names, _, _ in MEASURES))


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    where = environment()
    results = measured(options)
    print(shown(where, results, as_json=options.as_json))


def measured(options: Options) -> list[Result]:
    """All that was asked for and can be measured here, one after the other."""
    found: list[Result] = []
    with lab(options, _progress) as servers:
        for names, needs_wrk, measure in MEASURES:
            if not options.wants(*names):
                continue
            if needs_wrk and not available():
                _progress(f"{', '.join(sorted(names))} left out: {INSTALL}")
                continue
            found += measure(servers)
    return found


def parse(argv: list[str] | None) -> Options:
    """The command line as options; a wrong one ends the program."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", default="", help=f"some of {', '.join(sorted(NAMES))}, separated by commas")
    parser.add_argument("--quick", action="store_true", help="see that it works: seconds, and numbers without meaning")
    parser.add_argument("--full", action="store_true", help="P12 with 10,000 tenants instead of 500")
    parser.add_argument("--long", action="store_true", help="P8 with a million calls instead of 50,000")
    parser.add_argument("--json", dest="as_json", action="store_true", help="one document of JSON instead of tables")
    parser.add_argument("--jwt", action="store_true", help="callers come with access tokens instead of API tokens")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds of each comparison (5)")
    parser.add_argument("--seconds", type=int, default=2, help="length of one loaded run (2)")
    given = vars(parser.parse_args(argv))
    given["only"] = frozenset(name.strip().upper() for name in given["only"].split(",") if name.strip())
    if unknown := given["only"] - NAMES:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(sorted(NAMES))}")
    if given["quick"]:
        given |= {"rounds": 1, "seconds": 1, "connections": (1,)}
    return Options(**given)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
