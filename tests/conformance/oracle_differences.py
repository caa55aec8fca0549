"""What our answers to the messages of the conformance tool and the SDK's differ in, and why."""

from collections.abc import Mapping

LEFT_OUT = frozenset(
    {"subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list"}
)
"""Methods that the SDK's server has no handler for here."""

KNOWN: Mapping[str, str] = {}
