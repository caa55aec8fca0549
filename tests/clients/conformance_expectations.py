"""What the official conformance suite must find at a gateway with three tools, revision by revision.

The suite calls a failing scenario "1 passed" when only the schema check of its messages passed, so checks are counted
here one by one. Every check that does not pass has its reason; a check that starts to pass is a difference too.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Unmet:
    """A check that ends in something else than SUCCESS, and why that is right for us."""

    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Expected:
    """How many checks of a scenario pass (the schema check is one of them), and which do not."""

    passed: int
    unmet: dict[str, Unmet] = field(default_factory=dict)


NO_SESSIONS = "we issue no session id: legacy revisions are served stateless"
NO_FIXTURE_TOOLS = "'not testable' in the suite's own words: it needs a tool that only its reference server has"
NOTHING_TO_SUBSCRIBE = "we advertise no listChanged: tasks are all that there is to listen to"
TOOLS_ONLY = "we offer tools only, no prompts and no resources"
JSON_ANSWERS = "without a progress token the answer is JSON"

INITIALIZE = Expected(2, {"server-session-id-visible-ascii": Unmet("INFO", NO_SESSIONS)})
LIFECYCLE = Expected(0, {"server-session-lifecycle-skipped": Unmet("INFO", NO_SESSIONS)})

APPLICABLE: dict[str, dict[str, Expected]] = {
    "2025-06-18": {
        "server-initialize": INITIALIZE,
        "server-session-lifecycle": LIFECYCLE,
        "ping": Expected(2),
        "tools-list": Expected(2),
    },
    "2025-11-25": {
        "server-initialize": INITIALIZE,
        "server-session-lifecycle": LIFECYCLE,
        "ping": Expected(2),
        "tools-list": Expected(3),
        "dns-rebinding-protection": Expected(2),
        "server-sse-multiple-streams": Expected(
            0, {"server-sse-multiple-streams-session": Unmet("WARNING", NO_SESSIONS)}
        ),
    },
    "2026-07-28": {
        "tools-list": Expected(4),
        "dns-rebinding-protection": Expected(2),
        "http-header-validation": Expected(14),
        "input-required-result-unsupported-methods": Expected(2),
        "server-sse-multiple-streams": Expected(1, {"server-sse-streams-functional": Unmet("INFO", JSON_ANSWERS)}),
        "caching": Expected(
            4,
            {
                "sep-2549-prompts-list-caching-hints": Unmet("FAILURE", TOOLS_ONLY),
                "sep-2549-resources-list-caching-hints": Unmet("FAILURE", TOOLS_ONLY),
                "sep-2549-resources-templates-list-caching-hints": Unmet("FAILURE", TOOLS_ONLY),
                "sep-2549-resources-read-caching-hints": Unmet("SKIPPED", TOOLS_ONLY),
            },
        ),
        "server-stateless": Expected(
            24,
            {
                "sep-2575-server-rejects-undeclared-capability": Unmet("FAILURE", NO_FIXTURE_TOOLS),
                "sep-2575-missing-capability-http-400": Unmet("FAILURE", NO_FIXTURE_TOOLS),
                "sep-2575-http-server-no-independent-requests-on-stream": Unmet("FAILURE", NO_FIXTURE_TOOLS),
                "sep-2575-server-no-log-without-loglevel": Unmet("FAILURE", NO_FIXTURE_TOOLS),
                "sep-2575-server-sends-prompts-list-changed-on-subscription": Unmet("SKIPPED", NOTHING_TO_SUBSCRIBE),
                "sep-2575-server-sends-tools-list-changed-on-subscription": Unmet("SKIPPED", NOTHING_TO_SUBSCRIBE),
            },
        ),
    },
}

# Scenarios that a gateway with three tools cannot pass, or passes by accident, by the start of their names. Of these
# only the schema check counts: also what we refuse must be refused in well-formed messages.
NOT_APPLICABLE = {
    "tools-call-": NO_FIXTURE_TOOLS,
    "elicitation-": NO_FIXTURE_TOOLS,
    "json-schema-2020-12": NO_FIXTURE_TOOLS,
    "input-required-result-": NO_FIXTURE_TOOLS,
    "http-custom-header-server-validation": "our three tools mirror no argument into a header",
    "server-sse-polling": NO_SESSIONS,
    "resources-": TOOLS_ONLY,
    "sep-2164-resource-not-found": TOOLS_ONLY,
    "prompts-": TOOLS_ONLY,
    "completion-complete": TOOLS_ONLY,
    "logging-set-level": "we send no log messages to clients",
}
