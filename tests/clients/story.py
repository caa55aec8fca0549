"""The story that every client tells: what it is asked to call, and what must come back."""

import json
from dataclasses import dataclass
from typing import Any

MODULE = "knowledge_graph"
META_TOOLS = ["get_module_schema", "call", "batch"]
WRONG_TOKEN = "no-such-token"

# Revisions of before 2025-06-18 know no structured content; their clients read the text.
TEXT_ONLY = ("2024-11-05", "2025-03-26")


@dataclass(frozen=True, slots=True)
class Gateway:
    """The product under test, as a client's configuration has it."""

    mcp_url: str
    token: str


@dataclass(frozen=True, slots=True)
class StdioCommand:
    """A process that speaks MCP on its standard input and output, as a client's configuration has it."""

    command: str
    arguments: list[str]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One `tools/call`; with `progress` the client asks for progress, so the answer may come as a stream."""

    label: str
    tool: str
    arguments: dict[str, Any]
    progress: bool = False


def planned_calls(entity: str) -> list[PlannedCall]:
    """The calls of a story about `entity`, a name that no other story uses."""
    steps = _copy_by_reference(entity)
    lines = "\n".join(json.dumps(step) for step in steps)
    return [
        PlannedCall("schema", "get_module_schema", {"module": MODULE}),
        PlannedCall("created", "call", _call("create_entities", entities=[_entity(entity, "likes tea")])),
        PlannedCall("read", "call", _call("get_nodes", names=[entity])),
        PlannedCall("streamed", "call", _call("read_graph"), progress=True),
        PlannedCall("batch", "batch", {"commands": steps}),
        PlannedCall("batch_text", "batch", {"commands": lines}),
        PlannedCall("refused", "call", _call("no_such_tool")),
    ]


def _call(tool_name: str, **params: Any) -> dict[str, Any]:
    return {"module": MODULE, "tool_name": tool_name, "params": params}


def _entity(name: str, observation: str) -> dict[str, Any]:
    return {"name": name, "entityType": "person", "observations": [observation]}


def _copy_by_reference(entity: str) -> list[dict[str, Any]]:
    """The observation of the copy can only come out right if the server looked the reference up."""
    copied = _entity(f"Copy of {entity}", "is a ${seen.entities[0].entityType} who ${seen.entities[0].observations[0]}")
    return [
        {"id": "seen", **_call("get_nodes", names=[entity])},
        {"id": "copied", **_call("create_entities", entities=[copied])},
        {"id": "shown", **_call("get_nodes", names=[copied["name"]]), "after": ["copied"], "output": True},
    ]


def assert_story(story: dict[str, Any], entity: str, version: str) -> None:
    """`story` is `{server, version, tools, answers: {label: {is_error, text, structured}}}`."""
    assert story["version"] == version
    assert story["server"] == "mcpist"
    assert story["tools"] == META_TOOLS
    expected = {
        "schema": "create_entities",
        "created": entity,
        "read": "likes tea",
        "streamed": entity,
        "batch": "is a person who likes tea",
        "batch_text": "is a person who likes tea",
    }
    answers = dict(story["answers"])
    refused = answers.pop("refused")
    assert refused["is_error"], refused
    assert refused["text"], refused
    assert answers.keys() == expected.keys()
    for label, words in expected.items():
        _assert_answer(label, answers[label], words, version)


def _assert_answer(label: str, answer: dict[str, Any], words: str, version: str) -> None:
    assert not answer["is_error"], (label, answer)
    assert words in answer["text"], (label, answer)
    if version not in TEXT_ONLY:
        assert words in json.dumps(answer["structured"]), (label, answer)
