"""Check the models of the refresh (docs/refresh.pml) and of jobs (docs/jobs.pml) with Spin: every interleaving, each
variant, each promise.

    python tools/check_model.py

A promise that a variant breaks has to break: those are the designs that we did not take, and the losses that nobody
can prevent. Without `spin` or `gcc` it says loudly that nothing was checked.
"""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
SECONDS = 120
DEPTH = "200000"
HASH_BITS = "20"
"""Of the table of states, which grows by itself: Spin's default of 24 clears 128 MB for each search."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A form of the protocol or of its world, and the promises that do not hold in it."""

    title: str
    options: tuple[str, ...]
    broken: frozenset[str]


@dataclass(frozen=True, slots=True)
class Model:
    """A model, its promises and its variants. `fair`: a process that can go on does so at some time."""

    file: str
    promises: tuple[str, ...]
    variants: tuple[Variant, ...]
    fair: bool = False


def _variant(title: str, options: str, broken: str = "") -> Variant:
    return Variant(title, tuple(f"-D{one}" for one in options.split()), frozenset(broken.split()))


REFRESH = Model(
    "refresh.pml",
    ("alive", "single", "honest", "labelled", "patient", "stored"),
    (
        _variant("the lease", ""),
        _variant("killed at any step, strict vendor: the loss that nobody can prevent", "CRASH", "alive"),
        _variant("killed at any step, vendor with grace", "CRASH GRACE"),
        _variant("killed and frozen past the lease, strict vendor", "CRASH FROZEN SPOOL", "alive"),
        _variant("killed and frozen past the lease, vendor with grace", "CRASH FROZEN SPOOL GRACE", "patient"),
        _variant("a lock that may run out", "TTL_LOCK", "alive single honest labelled patient"),
        _variant(
            "a lock that may run out, vendor with grace", "TTL_LOCK GRACE", "alive single honest labelled patient"
        ),
        _variant("late writers overwrite", "NO_FENCE FROZEN GRACE", "alive single honest labelled patient"),
        _variant("a write that is not repeated", "NO_RETRY", "alive"),
    ),
)
JOBS = Model(
    "jobs.pml",
    ("single", "once", "final", "fenced", "told"),
    (
        _variant("a job that may run twice", ""),
        _variant("a job that may not", "ONCE"),
        _variant("killed, cut off and frozen, may run twice", "CRASH CUT_OFF FROZEN"),
        _variant("killed, cut off and frozen, may not", "ONCE CRASH CUT_OFF FROZEN"),
        _variant("frozen while it asks, may not run twice", "ONCE FROZEN_CALL"),
        _variant("frozen while it asks: what nobody can prevent", "FROZEN_CALL", "single"),
        _variant("leases end by a clock that may jump", "WALL_CLOCK", "single"),
        _variant("late outcomes count", "NO_FENCE CUT_OFF FROZEN_CALL", "single final fenced"),
        _variant("what may not run twice is repeated", "ONCE REPEAT CRASH", "once"),
    ),
    fair=True,
)  # fmt: skip


def main() -> int:
    missing = [program for program in ("spin", "gcc") if shutil.which(program) is None]
    if missing:
        print(f"!!! THE MODELS WERE NOT CHECKED: {' and '.join(missing)} missing (apt-get install spin gcc)")
        return 0
    wrong = 0
    for model in (REFRESH, JOBS):
        print(model.file)
        for variant in model.variants:
            found = _find_broken(model, variant)
            right = found == variant.broken
            wrong += not right
            told = f"breaks {', '.join(sorted(found))}" if found else "every promise holds"
            print(f"{'ok' if right else 'WRONG':5} {variant.title}: {told}")
            if not right:
                print(f"      it was to break: {', '.join(sorted(variant.broken)) or 'nothing'}")
    return 1 if wrong else 0


def _find_broken(model: Model, variant: Variant) -> frozenset[str]:
    with tempfile.TemporaryDirectory() as folder:
        _run(folder, "spin", "-a", *variant.options, str(DOCS / model.file))
        _run(folder, "gcc", "-O0", "-w", "-o", "pan", "pan.c")  # to optimise takes longer than the search
        return frozenset(promise for promise in model.promises if _count_errors(folder, model, promise))


def _count_errors(folder: str, model: Model, promise: str) -> int:
    said = _run(folder, "./pan", "-a", *(["-f"] if model.fair else []), f"-m{DEPTH}", f"-w{HASH_BITS}", "-N", promise)
    found = re.search(r"errors: (\d+)", said)
    if found is None or "max search depth too small" in said:
        raise SystemExit(f"the search for {promise} did not end:\n{said[-2000:]}")
    return int(found[1])


def _run(folder: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode and command[0] != "./pan":
        raise SystemExit(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
