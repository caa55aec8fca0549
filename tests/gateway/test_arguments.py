"""Arguments are taken as they are: nothing is coerced into the type that a tool asks for."""

from typing import Annotated, Any

import orjson
import pytest
from pydantic import BaseModel, ConfigDict, Field

from gateway.argument_validation import InvalidToolArguments, validate_arguments
from gateway.catalogue import build_catalogue
from modules.kit import Context, Module, SensitiveParameter, tool
from modules.kit.parameters import OptionalParameter
from tests.support.toy_modules import READS, Said


class Part(BaseModel):
    old: str
    new: str = ""


@tool(hints=READS, scopes=["desk"])
async def look(
    context: Context,
    number: Annotated[int, Field(description="How many")] = 0,
    share: Annotated[float, Field(description="How much")] = 0.0,
    open: Annotated[bool, Field(description="Whether it is open")] = False,
    text: Annotated[str, Field(description="What it says")] = "",
    secret: Annotated[str, SensitiveParameter(), Field(description="What nobody else reads", max_length=5)] = "",
    values: Annotated[dict[str, Any] | None, Field(description="Any object")] = None,
    parts: Annotated[list[Part] | None, Field(description="Objects of a form")] = None,
    either: Annotated[int | list[int], Field(description="One or several")] = 0,
) -> Said:
    """Look."""
    return Said(said=text)


class Note(BaseModel):
    model_config = ConfigDict(extra="forbid")

    line: int
    start_line: int = 0


@tool(hints=READS, scopes=["desk"])
async def note(
    context: Context,
    notes: Annotated[OptionalParameter[list[Note]], Field(description="Notes")] = None,
    names: Annotated[OptionalParameter[dict[str, str]], Field(description="Names")] = None,
) -> Said:
    """Note."""
    return Said(said="")


(TOOL, NOTE) = build_catalogue([Module("desk", "Desk", "For tests.", frozenset({"desk"}), (look, note))]).tools["desk"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"number": "7"},
        {"number": 7.5},
        {"number": True},
        {"share": "0.5"},
        {"open": "true"},
        {"open": 1},
        {"text": 7},
        {"other": 1},
        {"values": "no JSON"},
        {"values": "7"},
        {"values": "[1]"},
        {"values": '{"a":' * 40 + "1" + "}" * 40},
        {"parts": '[{"new": "x"}]'},
        {"parts": '["[]"]'},
        {"either": '["a"]'},
    ],
)
def test_nothing_is_coerced(arguments: dict[str, Any]) -> None:
    (name,) = arguments
    with pytest.raises(InvalidToolArguments, match=rf"^{name}\b"):
        validate_arguments(TOOL, orjson.dumps(arguments))


def test_a_sensitive_value_is_not_repeated() -> None:
    for wrong in ("swordfish", ["swordfish"]):
        with pytest.raises(InvalidToolArguments, match=r"^secret: ") as caught:
            validate_arguments(TOOL, orjson.dumps({"secret": wrong}))
        assert "sword" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"notes": [{"line": "1"}]}, 'notes[0].line: input should be a valid integer, got "1"'),
        ({"notes": [{"line": 1, "colour": 2}]}, "notes[0].colour is unknown; known are: line, start_line"),
        ({"notes": [{"line": 1, "startLine": 2}]}, "notes[0].startLine is unknown, did you mean start_line?"),
        ({"notes": [{"start_line": 1}]}, "notes[0].line is missing (expected integer)"),
        ({"notes": "x"}, 'notes: input should be a valid array, got "x"'),
        ({"names": {"a": 1}}, "names.a: input should be a valid string, got 1"),
        ({"names": {"none": 1}}, "names.none: input should be a valid string, got 1"),
        ({"notes": [{"line": 1}], "note": []}, "note is unknown; known are: notes, names"),
        ({"nots": []}, "nots is unknown, did you mean notes?"),
    ],
)
def test_a_mistake_within_a_list_is_told_with_its_place(arguments: dict[str, Any], text: str) -> None:
    """Not with the names of a union's members, which the caller has never seen; and a name is told only where it can
    be the one that was meant."""
    with pytest.raises(InvalidToolArguments) as caught:
        validate_arguments(NOTE, orjson.dumps(arguments))
    assert str(caught.value) == text


def test_what_fits_is_taken_as_it_is() -> None:
    arguments = {"number": 7, "share": 1, "open": True, "text": "7", "secret": "x"}
    taken = validate_arguments(TOOL, orjson.dumps(arguments)).model_dump()
    assert {name: taken[name] for name in arguments} == arguments
    assert type(taken["share"]) is float, "every integer of JSON is a number"


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ({"values": '{"a": [1, null]}'}, {"values": {"a": [1, None]}}),
        ({"parts": '[{"old": "x", "new": "y"}]'}, {"parts": [{"old": "x", "new": "y"}]}),
        ({"parts": ['{"old": "x"}', {"old": "y"}]}, {"parts": [{"old": "x", "new": ""}, {"old": "y", "new": ""}]}),
        ({"parts": '["{\\"old\\": \\"x\\"}"]', "number": None}, {"parts": [{"old": "x", "new": ""}], "number": 0}),
        ({"either": "[7]", "text": '{"a": 1}'}, {"either": [7], "text": '{"a": 1}'}),
    ],
)
def test_json_text_counts_as_the_object_that_is_meant(arguments: dict[str, Any], taken: dict[str, Any]) -> None:
    """makenotion/notion-mcp-server#82 and many more: clients write JSON text in the place of objects."""
    found = validate_arguments(TOOL, orjson.dumps(arguments)).model_dump()
    assert {name: found[name] for name in taken} == taken


def test_json_texts_keep_the_limits_of_one_message_together() -> None:
    """One is taken, four of which each is within the limits are not."""
    text = '{"a": [' + ",".join(["1"] * 30_000) + "]}"
    assert validate_arguments(TOOL, orjson.dumps({"values": text})).model_dump()["values"]["a"][-1] == 1
    parts = ['{"old": "x", "new": [' + "[]," * 30_000 + "1]}"] * 4
    with pytest.raises(InvalidToolArguments, match=r"^parts\[0\]: input should be (?:an object|a valid dictionary)"):
        validate_arguments(TOOL, orjson.dumps({"parts": parts}))
