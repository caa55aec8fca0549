"""The program of :mod:`tests.support.shop_program`, which ends itself by SIGKILL at a step of a call.

KILL_AT names the step, and KILL_COUNT how often it is reached first (once where it is not set). The steps are methods
of the product, so that the path of a call pays nothing for them.
"""

import itertools
import os
import runpy
import signal
from typing import Any

from core.audit.append_channel import AppendChannel
from core.audit.writer import AuditWriter
from core.http_server.client_connection import ClientConnection
from core.http_server.exchange import HttpExchange
from gateway.vendor_connections import VendorConnections
from gateway.vendor_session.vendor_connection import VendorConnection

STEPS: dict[str, tuple[type[Any], str, bool]] = {
    "request read": (ClientConnection, "start_request", False),
    "call checked": (AuditWriter, "submit", False),
    "intent queued": (AuditWriter, "submit", True),
    "intent sent": (AppendChannel, "append", True),
    "intent durable": (AuditWriter, "_settle", False),
    "tool begun": (VendorConnections, "create_client", False),
    "vendor asked": (VendorConnection, "send", True),
    "vendor answered": (VendorConnection, "data_received", False),
    "call ended": (AuditWriter, "enqueue", False),
    "outcome queued": (AuditWriter, "enqueue", True),
    "answer begun": (HttpExchange, "answer", False),
    "answer sent": (ClientConnection, "write", True),
}
"""In the order of a call of a writing tool: class and method, and whether the process ends after it or before it."""


def end_at(step: str, count: int) -> None:
    """Have the process end when the step is reached for the `count`-th time."""
    owner, name, is_after = STEPS[step]
    method, numbers = getattr(owner, name), itertools.count(1)

    def run(*given: Any, **named: Any) -> Any:
        is_last = next(numbers) == count
        if is_last and not is_after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*given, **named)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, run)


if __name__ == "__main__":
    if step := os.environ.get("KILL_AT"):
        end_at(step, int(os.environ.get("KILL_COUNT", "1")))
    runpy.run_module("tests.support.shop_program", run_name="__main__")
