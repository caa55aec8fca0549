"""What clients and models send beside the schema: null for what is left out, unknown arguments, JSON as text."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import jsonschema
import orjson
import pytest
import pytest_asyncio
from pydantic import BaseModel, Field

from core.audit.event import AuditEventKind
from gateway.catalogue import build_catalogue
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import Context, Module, tool
from tests.path.conftest import People
from tests.support.mcp_client import NEWEST, REVISIONS, Answer
from tests.support.postgres import DatabaseServer
from tests.support.product import Node, Person, Product, product_on
from tests.support.toy_modules import READS, WRITES, Lab

pytestmark = [pytest.mark.shared_product, pytest.mark.asyncio(loop_scope="module")]

LOOK = {"module": "lab", "tool_name": "look", "params": {"at": "x"}}
WRITE = {"module": "lab", "tool_name": "write", "params": {"text": "x"}}
STEP = {"id": "a", **WRITE}


class Part(BaseModel):
    model_config = {"extra": "forbid"}
    name: str
    note: str = "no note"
    kinds: list[str] = []


class Seen(BaseModel):
    parts: list[Part]
    size: int | str
    colour: str
    until: str | None
    extra: dict[str, str]


class Form:
    """A module with every kind of optional argument. `saved` is what its writing tool was given."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    def module(self) -> Module:
        @tool(hints=READS, scopes=["form"])
        async def show(
            context: Context,
            parts: Annotated[list[Part], Field(description="Parts")],
            size: Annotated[int | str, Field(description="Of two kinds")] = 7,
            colour: Annotated[Literal["red", "blue"], Field(description="One of two")] = "red",
            until: Annotated[str | None, Field(description="Null means: no end")] = "tomorrow",
            extra: Annotated[dict[str, str], Field(description="Any names")] = {},  # noqa: B006 never changed
        ) -> Seen:
            """Show what it was given."""
            return Seen(parts=parts, size=size, colour=colour, until=until, extra=extra)

        @tool(hints=WRITES, scopes=["form"])
        async def save(context: Context, text: Annotated[str, Field(description="What")]) -> Part:
            """Save something."""
            self.saved.append(text)
            return Part(name=text)

        return Module("form", "Form", "Forms to fill in.", frozenset({"form"}), (show, save))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def form(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Node, Person]]:
    """A gateway with the forms, and somebody who may use them."""
    catalogue, home = build_catalogue([Form().module()]), tmp_path_factory.mktemp("form") / "home"
    async with (
        database_server.database() as database,
        product_on(database, home, catalogue=catalogue) as product,
        product.gateway() as node,
    ):
        yield node, await product.person(await product.tenant("acme"), "ada@mail.test", allow=["*"])


@pytest.fixture
def form_node(form: tuple[Node, Person]) -> Node:
    return form[0]


@pytest.fixture
def ada(form: tuple[Node, Person]) -> Person:
    return form[1]


# --- null is left out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("name", "arguments", "optional"),
    [
        ("get_module_schema", {}, ("module", "tools", "have")),
        ("get_module_schema", {"module": "lab"}, ("tools", "have")),
        ("call", {"module": "knowledge_graph", "tool_name": "read_graph"}, ("params",)),
        ("batch", {"commands": [{"id": "a", "module": "lab", "tool_name": "look", "output": True}]}, ("dry_run",)),
    ],
)
async def test_null_for_an_optional_argument_is_as_leaving_it_out(
    node: Node, people: People, name: str, arguments: dict[str, Any], optional: tuple[str, ...], revision: str
) -> None:
    left_out = await node.tool(people.admin.token, name, arguments, revision=revision)
    assert not left_out.failed
    nulls = await node.tool(people.admin.token, name, arguments | dict.fromkeys(optional), revision=revision)
    assert nulls.comparable == left_out.comparable


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("call", {**LOOK, "module": None}),
        ("call", {**LOOK, "tool_name": None}),
        ("batch", {"commands": None}),
        ("batch", {"commands": None, "dry_run": None}),
    ],
)
async def test_null_for_a_required_argument_is_refused(
    node: Node, people: People, name: str, arguments: dict[str, Any]
) -> None:
    answer = await node.tool(people.admin.token, name, arguments)
    assert answer.failed
    given = {key: value for key, value in arguments.items() if value is not None}
    assert answer.comparable == (await node.tool(people.admin.token, name, given)).comparable


DEFAULTS = {"size": 7, "colour": "red", "until": "tomorrow", "extra": {}}
PART = {"name": "p", "note": "no note", "kinds": []}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"parts": [], "size": None}, {"parts": []}),
        ({"parts": [], "size": None, "colour": None, "extra": None}, {"parts": []}),
        ({"parts": [], "until": None}, {"parts": [], "until": None}),  # here null means something
        ({"parts": [], "until": None, "colour": None}, {"parts": [], "until": None}),
        ({"parts": [{"name": "p", "note": None, "kinds": None}]}, {"parts": [PART]}),
        ({"parts": [PART, {"name": "p", "note": None}], "size": None}, {"parts": [PART, PART]}),
    ],
)
@pytest.mark.parametrize("way", ["call", "batch"])
async def test_null_for_an_optional_argument_of_a_tool(
    form_node: Node, ada: Person, params: dict[str, Any], expected: dict[str, Any], way: str
) -> None:
    if way == "call":
        seen = (await form_node.call(ada.token, "form", "show", params)).value
    else:
        step = {"id": "a", "module": "form", "tool_name": "show", "params": params, "output": True}
        seen = (await form_node.tool(ada.token, "batch", {"commands": [step]})).result["structuredContent"]
        seen = seen["steps"][0]["result"]
    assert seen == {**DEFAULTS, **expected}


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"parts": None}, "parts: input should be a valid array, got null"),
        ({"parts": [None]}, "parts[0]"),
        ({"parts": [{"name": None, "note": None}]}, "parts[0].name: input should be a valid string, got null"),
        ({"parts": [{"name": "p", "kinds": [None]}]}, "parts[0].kinds[0]: input should be a valid string, got null"),
        ({"parts": [], "extra": {"x": None}}, "extra.x: input should be a valid string, got null"),
        ({"parts": [], "sise": None}, "sise is unknown, did you mean size?"),
        ({"parts": [], "colour": None, "size": []}, "size"),
    ],
)
async def test_other_nulls_are_refused_and_explained(
    form_node: Node, ada: Person, params: dict[str, Any], told: str
) -> None:
    answer = await form_node.call(ada.token, "form", "show", params)
    assert answer.failed
    assert answer.text.startswith(told)
    assert "colour" not in answer.text, "what counts as left out is no mistake"


async def test_the_tools_schema_still_says_nothing_of_null(form_node: Node, ada: Person) -> None:
    shown = (await form_node.tool(ada.token, "get_module_schema", {"module": "form"})).value["modules"][0]
    assert shown["tools"][0]["params"]["properties"]["colour"]["enum"] == ["red", "blue"]
    assert "null" not in json.dumps(shown["tools"][0]["params"]["properties"]["size"])


# --- arguments that nobody knows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("get_module_schema", {"module": "lab"}), ("call", LOOK), ("batch", {"commands": [{**STEP, "output": True}]})],
)
async def test_an_unknown_argument_is_ignored_and_named(
    node: Node, people: People, name: str, arguments: dict[str, Any], revision: str
) -> None:
    plain = await node.tool(people.admin.token, name, arguments, revision=revision)
    answer = await node.tool(people.admin.token, name, {**arguments, "wait_for_previous": True}, revision=revision)
    assert not answer.failed
    *content, note = answer.result["content"]
    assert {**answer.result, "content": content} == plain.result
    assert note["type"] == "text"
    assert note["text"].startswith(f'Note: {name} has no argument "wait_for_previous"; it was ignored.')


async def test_the_structured_part_stays_valid_under_the_output_schema(node: Node, people: People) -> None:
    listed = (await node.post(people.admin.token, "tools/list")).result["tools"]
    for definition, arguments in zip(listed, ({"module": "lab"}, LOOK, {"commands": [STEP]}), strict=True):
        answer = await node.tool(people.admin.token, definition["name"], {**arguments, "wait_for_previous": True})
        jsonschema.validate(answer.result["structuredContent"], definition.get("outputSchema", True))
        assert "wait_for_previous" not in json.dumps(answer.result["structuredContent"])


async def test_a_note_stands_beside_an_error_too(node: Node, people: People) -> None:
    """And says the same of a hidden tool and of one that nobody has."""
    answers = [
        await node.tool(people.reader.token, "call", {**WRITE, "tool_name": name, "wait_for_previous": 1})
        for name in ("write", "made_up")
    ]
    assert answers[0].comparable == answers[1].comparable
    assert answers[0].result["content"][0]["text"] == NO_SUCH_TOOL
    assert "wait_for_previous" in answers[0].text


RESEMBLING = {
    "batch": {
        "dryRun": "dry_run", "DRY_RUN": "dry_run", "dry-run": "dry_run", "dry_runs": "dry_run", "dyr_run": "dry_run",
        "drry_rrun": "dry_run", "preview": "dry_run", "Commands": "commands", "comand": "commands", "steps": "commands",
    },
    "call": {
        "Params": "params", "param": "params", "parms": "params", "arguments": "params", "args": "params",
        "toolName": "tool_name", "tool-name": "tool_name", "toolname": "tool_name", "name": "tool_name",
        "modul": "module", "MODULE": "module",
    },
    "get_module_schema": {"modules": "module", "tool": "tools", "Have": "have"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [(name, wrong, right) for name, names in RESEMBLING.items() for wrong, right in names.items()],
)
async def test_what_resembles_a_known_name_is_refused(
    node: Node, people: People, lab: Lab, name: str, wrong: str, right: str
) -> None:
    """Else a dry run would write, and a call would run with other arguments than it was given."""
    good: dict[str, Any] = {"batch": {"commands": [STEP]}, "call": WRITE, "get_module_schema": {}}[name]
    answer = await node.tool(people.admin.token, name, {**good, wrong: True, "wait_for_previous": True})
    assert answer.failed
    assert answer.text == f'"{wrong}" is unknown; did you mean {right}?'
    assert lab.effects == []


async def test_a_misspelt_name_that_is_null_was_left_out(node: Node, people: People, lab: Lab) -> None:
    answer = await node.tool(people.admin.token, "batch", {"commands": [STEP], "dryRun": None, "x": None})
    assert (answer.failed, lab.effects) == (False, ["x"])
    assert len(answer.result["content"]) == 1


HOSTILE = {
    "long": "x" * 5_000,
    "4 MB": "y" * 3_900_000,
    "4 MB that begins like a known one": "dry_run" + "-" * 3_900_000,
    "resembles a known one in its first 64 characters": "dry_run" + "-" * 57 + "x" * 5_000,
    "control characters": "a\n\x1b[31m\x00\u202e\u2028b",
    "emoji": "😀" * 100,
    "empty": "",
    "sharp s": "ß" * 64,
    "braces": "{}${a.b}%s",
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_hostile_name_is_cut_and_printable(node: Node, people: People, what: str) -> None:
    answer = await node.tool(people.admin.token, "batch", {"commands": [STEP], HOSTILE[what]: 1})
    text = answer.result["content"][-1]["text"]
    assert len(text) < 300
    assert text.replace("\n", " ").isprintable()
    assert answer.failed == ("a known one" in what)


async def test_many_unknown_arguments_are_named_in_part_and_then_refused(node: Node, people: People, lab: Lab) -> None:
    few = await node.tool(people.admin.token, "call", {**WRITE, **{f"{n}{'x' * 900}": 1 for n in range(20)}})
    assert not few.failed
    assert len(few.result["content"][-1]["text"]) < 600
    assert "and 15 more" in few.result["content"][-1]["text"]
    many = await node.tool(people.admin.token, "call", {**WRITE, **{f"{n}{'x' * 30}": 1 for n in range(20_000)}})
    assert many.failed
    assert many.text == "too many unknown arguments; call takes module, tool_name, params, max_tokens"
    assert lab.effects == ["x"]


@pytest.mark.parametrize("long", [65, 5_000, 500_000])
async def test_a_name_that_is_too_long_to_be_one_is_as_made_up(
    product: Product, node: Node, people: People, long: int
) -> None:
    before = len(await product.events(people.acme, AuditEventKind.DENIED))
    made_up = await node.call(people.reader.token, "made_up", "made_up", {"text": "x"})
    for module, name in (("lab", "look" + "k" * long), ("m" * long, "look"), ("m" * long, "look" * long)):
        answer = await node.call(people.reader.token, module, name, {"text": "x"})
        assert answer.comparable == made_up.comparable
    events = (await product.events(people.acme, AuditEventKind.DENIED))[before:]
    assert len(events) == 4
    assert len({event.digest for event in events}) == 1
    assert all(len(event.module) <= 64 and len(event.tool) <= 64 for event in events)
    assert events[1].tool == "look" + "k" * 59 + "…"


# --- JSON as text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
async def test_params_as_json_text(product: Product, node: Node, people: People, revision: str) -> None:
    """The same answer, and the same record, as for the object."""
    before = len(await product.events(people.acme, AuditEventKind.CALL_INTENT))
    params = {"at": 'ü "quoted" ${x}'}
    plain = await node.tool(people.admin.token, "call", {**LOOK, "params": params}, revision=revision)
    texts = (json.dumps(params), json.dumps(params, ensure_ascii=False, indent=1), f"\n {json.dumps(params)} ")
    for text in texts:
        answer = await node.tool(people.admin.token, "call", {**LOOK, "params": text}, revision=revision)
        assert answer.comparable == plain.comparable
    intents = (await product.events(people.acme, AuditEventKind.CALL_INTENT))[before:]
    assert len({event.digest for event in intents}) == 1
    assert len(intents) == 4


async def test_params_as_json_text_in_a_step(node: Node, people: People) -> None:
    first = {"id": "a", "module": "lab", "tool_name": "look", "params": '{"at": "there"}'}
    second = {"id": "b", "module": "lab", "tool_name": "look", "params": '{"at": "${a.said}"}', "output": True}
    for commands in ([first, second], json.dumps([first, second]), f"{json.dumps(first)}\n{json.dumps(second)}"):
        answer = await node.tool(people.admin.token, "batch", {"commands": commands})
        assert answer.result["structuredContent"]["steps"][1] == {
            "id": "b", "status": "ok", "result": {"said": "there"}
        }  # fmt: skip


def deep(levels: int) -> str:
    return '{"at":' * levels + "1" + "}" * levels


NO_OBJECT = "params must be an object with the tool's arguments"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", NO_OBJECT),
        ("x", NO_OBJECT),
        ("[]", NO_OBJECT),
        ("null", NO_OBJECT),
        ('"{}"', NO_OBJECT),
        ('{"at": "x"', NO_OBJECT),
        ('{"at": NaN}', NO_OBJECT),
        (deep(64), "params is nested too deep"),
        (deep(20_000), "params is nested too deep"),
        ('{"at":' + "[" * 400_000, "params holds more than 100000 objects and arrays"),
        ('{"at":[' + "[]," * 200_000 + "1]}", "params holds more than 100000 objects and arrays"),
        ('{"at":[' + "1," * 200_000 + "1]}", "params holds more than 100000 values or 30000 fields"),
        (
            "{" + ",".join(f'"f{n}":1' for n in range(40_000)) + "}",
            "params holds more than 100000 values or 30000 fields",
        ),
    ],
)
async def test_what_is_no_object_as_text(node: Node, people: People, text: str, told: str) -> None:
    answer = await node.tool(people.admin.token, "call", {**LOOK, "params": text})
    assert (answer.failed, answer.text.startswith(told)) == (True, True), answer.text
    step = {"id": "a", **LOOK, "params": text}
    in_batch = await node.tool(people.admin.token, "batch", {"commands": [step]})
    assert in_batch.failed
    assert told in in_batch.text or told.replace("params holds", "the steps hold") in in_batch.text
    assert len(in_batch.text) < 300


async def test_the_deepest_text_is_the_deepest_object(node: Node, people: People) -> None:
    """61 levels: with what is around them 64, the limit of a message."""
    told = [
        (await node.tool(people.admin.token, "call", {**LOOK, "params": params})).text
        for params in (json.loads(deep(61)), deep(61))
    ]
    assert told[0] == told[1]
    assert told[0].startswith("at: input should be a valid string")
    deeper = await node.tool(people.admin.token, "call", {**LOOK, "params": deep(62)})
    assert deeper.text.startswith("params is nested too deep")


async def test_steps_share_the_limit_of_a_message(node: Node, people: People) -> None:
    """Text that is small for each step is too much for all of them."""
    text = '{"at":[' + "[]," * 20_000 + "1]}"
    steps = [{"id": f"s{n}", "module": "lab", "tool_name": "look", "params": text} for n in range(40)]
    line = orjson.dumps({**steps[0], "params": json.loads(text)}).decode()
    for commands in (steps, "\n".join([line] * 16)):
        answer = await node.tool(people.admin.token, "batch", {"commands": commands})
        assert answer.failed
        assert "more than 100000 objects and arrays" in answer.text


# --- schemas ----------------------------------------------------------------------------------------------------------


async def test_schemas_leave_open_what_is_open(node: Node, people: People) -> None:
    """OpenAI's strict mode and some libraries take an object that does not say so for one without properties."""
    schema, call, batch = [
        one["inputSchema"]["properties"] for one in (await node.post(people.admin.token, "tools/list")).result["tools"]
    ]
    assert call["params"] == {"type": "object", "additionalProperties": True}
    (items,) = [form["items"] for form in batch["commands"]["anyOf"] if form["type"] == "array"]
    assert items == {"type": "object", "additionalProperties": True}
    assert [form["type"] for form in schema["have"]["anyOf"]] == ["string", "object"]
    assert "type" not in schema["have"]


# --- error texts ------------------------------------------------------------------------------------------------------


async def failures(node: Node, people: People) -> AsyncIterator[Answer]:
    """Every kind of failure there is."""
    token = people.admin.token
    for arguments in ({}, {"module": "lab"}, {**LOOK, "params": 1}, {**LOOK, "Params": 1}):
        yield await node.tool(token, "call", arguments)
    for name, params in (("made_up", {}), ("fail", {}), ("crash", {}), ("look", {"att": 1})):
        yield await node.call(token, "lab", name, params)
    for arguments in ({"module": 1}, {"module": ["x"] * 30}, {"have": 1}, {"module": "made_up"}):
        yield await node.tool(token, "get_module_schema", arguments)
    for commands in (None, [], [{}], [{**STEP, "tool_name": "made_up"}], [{**STEP, "tool_name": "fail", "params": {}}]):
        yield await node.tool(token, "batch", {"commands": commands})


async def test_no_error_begins_with_the_word(node: Node, people: People) -> None:
    """`isError` says it, and clients write it before the text themselves."""
    async for answer in failures(node, people):
        assert answer.failed
        assert "Error:" not in answer.text
        assert answer.text.strip()


async def test_a_call_that_takes_too_long_says_so_without_it(product: Product, people: People) -> None:
    async with product.gateway(call_timeout=1.0) as node:
        answer = await node.call(people.admin.token, "lab", "wait", revision=NEWEST)
    assert answer.failed
    assert answer.text.startswith("the call took longer than 1 s")


async def test_what_does_not_exist_is_a_module_or_a_tool(node: Node, people: People) -> None:
    for arguments in ({"module": "made_up"}, {"module": "lab", "tools": ["made_up"]}):
        answer = await node.tool(people.reader.token, "get_module_schema", arguments)
        assert answer.text == NO_SUCH_TOOL
    assert NO_SUCH_TOOL.startswith("no such module or tool")
