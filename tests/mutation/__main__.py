"""``python -m tests.mutation [--only WORDS]``: try the errors of the list whose group, text or file has these words."""

import argparse
import sys

from tests.mutation.mutants import listed, stale
from tests.mutation.run import BUDGET, WORKERS, line_of, problems, run, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", default="", help="words in an entry's group, text or file")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds")
    given = parser.parse_args()
    chosen = [one for one in listed() if given.only in f"{one.promise} {one.error} {one.file}"]
    if wrong := list(stale(chosen)):
        print("\n".join(wrong), file=sys.stderr)
        return 2
    results = run(
        chosen,
        workers=given.workers,
        budget=given.budget,
        report=lambda result: print(line_of(result), flush=True),
    )
    found = problems(results)
    print(table(results).rpartition("\n")[2], *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
