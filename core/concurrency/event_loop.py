"""The event loop of a process that serves."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def run_event_loop(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a long-lived process: on uvloop where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)
