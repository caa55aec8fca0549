"""What our answers to the messages of the conformance tool and the SDK's differ in, and why."""

from collections.abc import Mapping

LEFT_OUT = frozenset(
    {"subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list"}
)
"""Methods that the SDK's server has no handler for here."""

_TASKS = "the SDK's server has no tasks"
_NAMES = "the SDK's server has no tasks; it names its newest revisions alone, ours those of the handshake, too"
_ASKED_AGAIN = (
    "the SDK refuses answers that are no objects; ours asks again, as [2026-07-28] Multi Round-Trip Requests has it "
    "for what is missing"
)

KNOWN: Mapping[str, Mapping[str, str]] = {
    "2025-11-25": {
        "legacy initialize: capabilities of the result": _TASKS,
        "modern initialize: capabilities of the result": _TASKS,
    },
    "2026-07-28": {
        "modern server/discover: capabilities, supportedVersions of the result": _NAMES,
        "modern tools/call: 200 result against 400 -32602": _ASKED_AGAIN,
    },
}
"""By the revision of the run."""
