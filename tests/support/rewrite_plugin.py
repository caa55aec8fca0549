"""Assertions of all tests are rewritten once before the workers start, by as many processes as the machine has cores.

In a new clone each worker would rewrite every file for itself, all at the same time: 15 s of CPU each. This uses parts
of pytest that have no public form (pytest 9; requirements/dev.txt pins it).
"""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Rewrite what has changed."""
    if sys.dont_write_bytecode or config.getoption("assertmode") != "rewrite":
        return
    files = [file for pattern in ("test_*.py", "conftest.py") for file in config.rootpath.glob(f"tests/**/{pattern}")]
    cores = os.cpu_count() or 1
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=rewrite_files, args=(config, files[number::cores])) for number in range(cores)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def rewrite_files(config: pytest.Config, files: Sequence[Path]) -> None:
    """Rewrite files whose cached form is missing or old, as pytest does when it imports them."""
    pytest_rewrite: Any = rewrite
    state = config.stash[pytest_rewrite.assertstate_key]
    for file in files:
        cached = pytest_rewrite.get_cache_dir(file) / (file.name[:-3] + pytest_rewrite.PYC_TAIL)
        if pytest_rewrite._read_pyc(file, cached) is None:
            source_hash, code = pytest_rewrite._rewrite_test(file, config)
            cached.parent.mkdir(exist_ok=True)
            pytest_rewrite._write_pyc(state, code, source_hash, cached)
