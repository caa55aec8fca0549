"""Check the model of the refresh (docs/refresh.pml) with Spin: every interleaving, each variant, each promise.

    python tools/check_model.py

A promise that a variant breaks has to break: those are the designs that we did not take, and the one loss that nobody
can prevent. Without `spin` or `gcc` it says loudly that nothing was checked.
"""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODEL = Path(__file__).resolve().parents[1] / "docs" / "refresh.pml"
PROMISES = ("alive", "single", "honest", "labelled", "patient", "stored")
SECONDS = 120
DEPTH = "200000"


@dataclass(frozen=True, slots=True)
class Variant:
    """A form of the protocol or of its world, and the promises that do not hold in it."""

    title: str
    options: tuple[str, ...]
    broken: frozenset[str]


def _variant(title: str, options: str, broken: str = "") -> Variant:
    return Variant(title, tuple(f"-D{one}" for one in options.split()), frozenset(broken.split()))


VARIANTS = (
    _variant("the lease", ""),
    _variant("killed at any step, strict vendor: the loss that nobody can prevent", "CRASH", "alive"),
    _variant("killed at any step, vendor with grace", "CRASH GRACE"),
    _variant("killed and frozen past the lease, strict vendor", "CRASH FROZEN SPOOL", "alive"),
    _variant("killed and frozen past the lease, vendor with grace", "CRASH FROZEN SPOOL GRACE", "patient"),
    _variant("a lock that may run out", "TTL_LOCK", "alive single honest labelled patient"),
    _variant("a lock that may run out, vendor with grace", "TTL_LOCK GRACE", "alive single honest labelled patient"),
    _variant("late writers overwrite", "NO_FENCE FROZEN GRACE", "alive single honest labelled patient"),
    _variant("a write that is not repeated", "NO_RETRY", "alive"),
)  # fmt: skip


def main() -> int:
    missing = [program for program in ("spin", "gcc") if shutil.which(program) is None]
    if missing:
        print(
            f"!!! THE MODEL OF THE REFRESH WAS NOT CHECKED: {' and '.join(missing)} missing (apt-get install spin gcc)"
        )
        return 0
    wrong = 0
    for variant in VARIANTS:
        found = _broken(variant)
        right = found == variant.broken
        wrong += not right
        told = f"breaks {', '.join(sorted(found))}" if found else "every promise holds"
        print(f"{'ok' if right else 'WRONG':5} {variant.title}: {told}")
        if not right:
            print(f"      it was to break: {', '.join(sorted(variant.broken)) or 'nothing'}")
    return 1 if wrong else 0


def _broken(variant: Variant) -> frozenset[str]:
    with tempfile.TemporaryDirectory() as folder:
        _run(folder, "spin", "-a", *variant.options, str(MODEL))
        _run(folder, "gcc", "-O2", "-w", "-o", "pan", "pan.c")
        return frozenset(promise for promise in PROMISES if _errors(folder, promise))


def _errors(folder: str, promise: str) -> int:
    said = _run(folder, "./pan", "-a", f"-m{DEPTH}", "-N", promise)
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
