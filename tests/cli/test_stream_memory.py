"""Whether the streams that the settings allow fit into the memory that the process may have."""

from pathlib import Path

from core.config.settings import Settings
from server.stream_memory import STREAM_BYTES, WORKER_BYTES, find_memory_limit, find_stream_memory_problem


def test_streams_beyond_the_memory_are_told_with_the_number_that_fits(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, streams=10_000, workers=2)
    enough = 2 * (WORKER_BYTES + 10_000 * STREAM_BYTES)
    assert find_stream_memory_problem(settings, enough) is None
    problem = find_stream_memory_problem(settings, enough - 2 * STREAM_BYTES)
    assert problem is not None
    assert "MCPIST_STREAMS to at most 9999" in problem
    assert find_stream_memory_problem(settings, 1) is not None


def test_the_least_limit_of_the_control_groups_counts(tmp_path: Path) -> None:
    own, root = tmp_path / "cgroup", tmp_path / "groups"
    (root / "outer" / "inner").mkdir(parents=True)
    own.write_text("0::/outer/inner\n")
    unlimited = find_memory_limit(own, root)
    assert unlimited is not None
    assert unlimited > 2**27
    (root / "outer" / "memory.max").write_text(f"{2**27}\n")
    (root / "outer" / "inner" / "memory.max").write_text("max\n")
    assert find_memory_limit(own, root) == 2**27
    (root / "memory.max").write_text(f"{2**26}\n")
    assert find_memory_limit(own, root) == 2**26
    assert find_memory_limit(tmp_path / "none", tmp_path / "none") == unlimited
