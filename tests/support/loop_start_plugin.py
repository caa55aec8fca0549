"""Starts of event loops are cheap: a test takes several, one for each coroutine of a fixture.

asyncio.Runner.run() exchanges the handler of SIGINT around each coroutine where it is Python's own, and the `signal`
module then tries to make an enum of the handler. Its refusal holds the handler's repr(), so the task's and that of what
the coroutine returned (Lib/signal.py, _int_to_enum): 4 % of the suite's CPU. Another handler is left alone.
"""

import signal
from types import FrameType

import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    _replace_handler()


def pytest_runtest_logstart(nodeid: str) -> None:
    """Again for each test: what a test starts may have put Python's own handler back."""
    _replace_handler()


def _replace_handler() -> None:
    # Ignored: the tests were started in the background of a shell's script, which what they start would inherit.
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN):
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
