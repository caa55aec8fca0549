"""Memory that open streams may take, and what the process may have."""

import os
import resource
from pathlib import Path

from core.bilingual_text import BilingualText, say
from core.config.settings import Settings

STREAM_BYTES = 20 * 1024
"""Of one open stream, as the benchmark `ST` measures it (docs/benchmarks.md)."""
WORKER_BYTES = 160 * 1024**2
"""Of a worker without streams."""
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
_MEBIBYTE = 1024**2


def find_stream_memory_problem(settings: Settings, limit: int | None = None) -> BilingualText | None:
    """Find out whether all streams of `MCPIST_STREAMS` would need more memory than there may be: `limit` bytes, or what
    :func:`find_memory_limit` finds. None: they would not."""
    limit = find_memory_limit() if limit is None else limit
    needed = settings.workers * (WORKER_BYTES + settings.streams * STREAM_BYTES)
    if limit is None or needed <= limit:
        return None
    fitting = max(0, limit // settings.workers - WORKER_BYTES) // STREAM_BYTES
    return say(
        "{streams} streams of {workers} workers need {needed} MiB, and this process may have {limit} MiB: set "
        "MCPIST_STREAMS to at most {fitting}, or give it more memory",
        "{workers} 個のワーカーで {streams} 本のストリームには {needed} MiB 必要ですが、使えるのは {limit} MiB です。"
        "MCPIST_STREAMS を {fitting} 以下にするか、メモリーを増やしてください",
        streams=settings.streams,
        workers=settings.workers,
        needed=-(-needed // _MEBIBYTE),
        limit=limit // _MEBIBYTE,
        fitting=fitting,
    )


def find_memory_limit(own: Path = OWN_CGROUP, root: Path = CGROUPS) -> int | None:
    """Find how many bytes this process may have: the least of its limit of address space, those of its control groups
    (cgroup v2, and v1 as containers show it), and the machine's memory. None where nothing is known."""
    limits = [*_read_group_limits(own, root), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        limits.append(address_space)
    return min((limit for limit in limits if limit > 0), default=None)


def _read_group_limits(own: Path, root: Path) -> list[int]:
    files = [root / "memory.max", root / "memory" / "memory.limit_in_bytes"]
    try:
        lines = own.read_text("ascii", "replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("0::/"):
            group = root / line.removeprefix("0::/")
            files += [folder / "memory.max" for folder in (group, *group.parents) if folder.is_relative_to(root)]
    return [limit for file in files if (limit := _read_limit(file)) is not None]


def _read_limit(file: Path) -> int | None:
    try:
        text = file.read_text("ascii", "replace").strip()
    except OSError:
        return None
    return int(text) if text.isascii() and text.isdigit() else None  # "max" is none
