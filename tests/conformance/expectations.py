"""What the official conformance tool finds at an MCPist in plain view, apart from what passes, and why that is right.

Every scenario that a revision requires passes but those in `EXPECTED_FAILURES`; every check that ends otherwise is
named in `UNMET`. A check that starts to pass is a difference, too.
"""

from collections.abc import Mapping

# No clause of 2025-11-25 obliges a server to any of these.
EXPECTED_FAILURES: Mapping[str, Mapping[str, str]] = {
    "2025-11-25": {
        "logging-set-level": (
            "[2025-11-25] Logging, Capabilities: only servers that declare `logging` have logging/setLevel. The level "
            "would be kept between two requests, which a gateway without sessions does not do."
        ),
        "tools-call-with-logging": (
            "[2025-11-25] Logging: the scenario begins with logging/setLevel, see logging-set-level. [2026-07-28] has "
            "the level in each request, which is served."
        ),
        "tools-call-sampling": (
            "[2025-11-25] Sampling: a request from the server to the client, for whose answer a stream of one replica "
            "would have to wait; a gateway without sessions has no such channel. [2026-07-28] asks by input_required."
        ),
        "tools-call-elicitation": (
            "[2025-11-25] Elicitation, form mode: as tools-call-sampling. Pages are asked for by -32042."
        ),
        "elicitation-sep1034-defaults": "[2025-11-25] Elicitation, form mode: as tools-call-sampling.",
        "elicitation-sep1330-enums": "[2025-11-25] Elicitation, form mode: as tools-call-sampling.",
    },
    "2026-07-28": {},
}

_NO_SESSIONS = "no session id is issued: handshake revisions are served without sessions ([2025-11-25] Transports: MAY)"
_JSON = "an answer without progress is JSON ([2025-11-25] Transports: a server may answer with either)"
_NO_HEADERS = "no tool mirrors an argument into a header ([2026-07-28] Transports, x-mcp-header is optional)"
_NO_SCHEMA_TOOL = "the scenario's tool is one of the reference server's alone; it is pending in the suite"

# (revision, scenario, id of the check) -> why it does not end in SUCCESS
UNMET: Mapping[tuple[str, str, str], str] = {
    ("2025-11-25", "server-initialize", "server-session-id-visible-ascii"): _NO_SESSIONS,
    ("2025-11-25", "server-sse-multiple-streams", "server-sse-multiple-streams-session"): _NO_SESSIONS,
    ("2025-11-25", "server-session-lifecycle", "server-session-lifecycle-skipped"): _NO_SESSIONS,
    ("2025-11-25", "server-sse-polling", "server-sse-polling-session"): _NO_SESSIONS,
    ("2025-11-25", "server-sse-polling", "outgoing-request"): "told by the suite, no check",
    ("2025-11-25", "server-sse-polling", "incoming-response"): "told by the suite, no check",
    ("2025-11-25", "server-sse-polling", "server-sse-content-type"): _JSON,
    ("2025-11-25", "json-schema-2020-12", "json-schema-2020-12-tool-found"): _NO_SCHEMA_TOOL,
    ("2026-07-28", "server-sse-multiple-streams", "server-sse-streams-functional"): _JSON,
    ("2026-07-28", "json-schema-2020-12", "json-schema-2020-12-tool-found"): _NO_SCHEMA_TOOL,
    ("2026-07-28", "tasks-status-notifications", "tasks-status-notifications"): (
        "skipped by the suite until it listens on subscriptions/listen; tests/path/test_asking_tasks.py does"
    ),
    ("2026-07-28", "tasks-required-task-error", "sep-2663-server-returns-missing-capability-when-required"): (
        "SEP-2663, Capability Negotiation: -32021 where a tool is served as a task alone. Here none is: a client "
        "without the extension gets the result, or the id of the job for the module `jobs`"
    ),
    **{
        ("2026-07-28", "http-custom-header-server-validation", f"sep-2243-server-{check}"): _NO_HEADERS
        for check in (
            "no-xmcp-tool",
            "decode-base64",
            "validate-param-match",
            "reject-invalid-param-chars",
            "reject-param-mismatch",
        )
    },
}

# The tools of the module that a run has to reach, so that no scenario passes because nothing answers it: the audit log
# has to have them, with this outcome.
_CONTENT = {
    "simple_text": "ok",
    "image_content": "ok",
    "audio_content": "ok",
    "embedded_resource": "ok",
    "multiple_content_types": "ok",
    "error_handling": "error",
    "tool_with_progress": "ok",
}
_CAPABILITIES = {
    "static_text": "ok",
    "static_binary": "ok",
    "template_data": "ok",
    "test_simple_prompt": "ok",
    "test_prompt_with_arguments": "ok",
    "test_prompt_with_embedded_resource": "ok",
    "test_prompt_with_image": "ok",
}
ANSWERING: Mapping[str, Mapping[str, str]] = {
    "2025-11-25": _CONTENT | _CAPABILITIES,
    "2026-07-28": _CONTENT
    | _CAPABILITIES
    | {
        "missing_capability": "error",
        "streaming_elicitation": "ok",
        "logging_tool": "ok",
        "test_input_required_result_prompt": "ok",
        "say_greeting": "ok",
        "compute_slowly": "ok",
        "fail_slowly": "error",
        "break_down": "ok",
        "delete_if_confirmed": "ok",
        "ask_twice": "ok",
        "tool_with_task": "ok",
    }
    | {
        f"input_required_result_{name}": "ok"
        for name in (
            "elicitation",
            "sampling",
            "list_roots",
            "request_state",
            "multiple_inputs",
            "multi_round",
            "tampered_state",
            "capabilities",
        )
    },
}
