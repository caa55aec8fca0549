"""What processes use, read from /proc: CPU, memory, and what the rest of the machine does. Linux only."""

import os
import resource
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
REST_SECONDS = 2.0
"""How long nothing is done before it counts as rest. The sealer of the audit log pauses for nine times what a batch
took, over a second on a busy machine: a shorter look would leave its work out."""


def tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found


def trees(pids: Iterable[int]) -> set[int]:
    """Several trees; a process that is in two of them counts once."""
    return {member for pid in pids for member in tree(pid)}


def child_named(pid: int, name: str) -> int:
    """The direct child of `pid` whose command is `name`."""
    for member in tree(pid)[1:]:
        fields = _stat(member)
        if fields and int(fields[1]) == pid and Path(f"/proc/{member}/comm").read_text().strip() == name:
            return member
    raise LookupError(f"process {pid} has no child {name}")


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of processes and of their children that have ended.

    Living ones by their CPU clocks: the ticks of 10 ms in /proc/PID/stat are too coarse for an idle process.
    """
    total = 0.0
    for pid in pids:
        fields = _stat(pid)
        if fields:
            total += _running_seconds(pid) + (int(fields[13]) + int(fields[14])) / TICKS
    return total


def pss_mib(pids: Iterable[int]) -> float:
    """Proportional set size: shared pages count by their share."""
    kib = 0
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024


def machine_seconds() -> float:
    """Busy CPU seconds of the whole machine since it started, what a hypervisor took away included."""
    values = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(values) - values[3] - values[4]) / TICKS


def own_seconds() -> float:
    """CPU seconds of this process and of its children that have ended, such as wrk."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def wait_until_idle(pids: Iterable[int], patience: float, *, share: float = 0.03) -> bool:
    """Wait until processes use less than `share` of one core: work that was put off (sealing the audit log) is done."""
    roots = list(pids)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        before = cpu_seconds(trees(roots))
        time.sleep(REST_SECONDS)
        if cpu_seconds(trees(roots)) - before < share * REST_SECONDS:
            return True
    return False


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on (proc(5)): 1 is the parent, 13 and 14 ended children's ticks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def _running_seconds(pid: int) -> float:
    """The process's CPU clock in nanoseconds' precision, its ended threads included (clock_getcpuclockid(3))."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0
