"""What our answers to the messages of the conformance tool and the SDK's differ in, and why."""

from collections.abc import Mapping

_VERSIONS = (
    "[2026-07-28] DiscoverResult, UnsupportedProtocolVersionError: the versions that the server supports; the SDK "
    "serves those of the handshake, too, and leaves them out"
)
_ASKED_AGAIN = (
    "the SDK refuses answers that are no objects; ours asks again, as [2026-07-28] Multi Round-Trip Requests has it "
    "for what is missing"
)

KNOWN: Mapping[str, Mapping[str, str]] = {
    "2025-11-25": {},
    "2026-07-28": {
        "modern server/discover: supportedVersions of result": _VERSIONS,
        "modern server/discover: supported of -32022": _VERSIONS,
        "modern tools/call test_input_required_result_elicitation: 200 result against 400 -32602": _ASKED_AGAIN,
    },
}
"""By the revision of the run."""
