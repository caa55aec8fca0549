"""Questions to the client: several at once and one after the other, of tools and prompts, and what is refused."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import pytest_asyncio
from conformance_fixture import MODULE

from core.audit.event import AuditEventKind
from gateway.catalogue import build_catalogue, load_installed_modules
from gateway.mcp.request_state import MAX_STATE_LENGTH
from modules.kit.untrusted import UNTRUSTED
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY, MODERN, NEWEST, REVISIONS, Answer
from tests.support.postgres import DatabaseServer
from tests.support.product import Node, Person, Product, product_on
from tests.support.tokens import tokens

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
ABLE: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
ROOTS = {"roots": [{"uri": "file:///work", "name": "Work"}]}


@dataclass(frozen=True, slots=True)
class Asked:
    """A product with the module, and two people of it."""

    product: Product
    node: Node
    ada: Person
    bob: Person

    async def call(
        self, tool_name: str, more: Any = None, *, able: Any = ABLE, person: Person | None = None, **params: Any
    ) -> Answer:
        arguments = {"module": "test", "tool_name": tool_name, "params": params}
        call = {"name": "call", "arguments": arguments, "_meta": {CAPABILITIES: able}} | (more or {})
        return await self.node.post((person or self.ada).token, "tools/call", call, revision=MODERN)

    async def prompt(self, more: Any = None) -> Answer:
        params = {"name": "test_input_required_result_prompt", "_meta": {CAPABILITIES: ABLE}} | (more or {})
        return await self.node.post(self.ada.token, "prompts/get", params, revision=MODERN)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asked]:
    catalogue = build_catalogue([*load_installed_modules().modules, MODULE])
    home = tmp_path_factory.mktemp("questions") / "home"
    async with (
        database_server.database() as database,
        product_on(database, home, catalogue=catalogue) as product,
        product.gateway() as node,
    ):
        acme = await product.tenant("acme")
        people = [await product.person(acme, f"{name}@acme.test", allow=["*"]) for name in ("ada", "bob")]
        yield Asked(product, node, *people)


def form(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def sampled(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m", "stopReason": "endTurn"}


def answered(question: Answer, **responses: Any) -> dict[str, Any]:
    assert question.result["resultType"] == "input_required", question.body
    return {"requestState": question.result["requestState"], "inputResponses": responses}


async def test_several_questions_at_once(app: Asked) -> None:
    asked = await app.call("input_required_result_multiple_inputs")
    requests = asked.result["inputRequests"]
    assert {key: one["method"] for key, one in requests.items()} == {
        "user_name": "elicitation/create",
        "greeting": "sampling/createMessage",
        "client_roots": "roots/list",
    }
    assert requests["user_name"]["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
    assert requests["greeting"]["params"]["maxTokens"] == 50
    # What is missing, or no answer, is asked again; what was answered is not.
    partly = await app.call(
        "input_required_result_multiple_inputs",
        answered(asked, user_name=form(name="Ada"), greeting={"no": "message"}, client_roots=ROOTS, other=1),
    )
    assert [*partly.result["inputRequests"]] == ["greeting"]
    done = await app.call("input_required_result_multiple_inputs", answered(partly, greeting=sampled("Hello")))
    assert done.result["content"] == [{"type": "text", "text": "Hello Ada, 1 roots"}]
    assert "structuredContent" not in done.result


async def test_one_question_after_the_other(app: Asked) -> None:
    first = await app.call("input_required_result_multi_round")
    second = await app.call("input_required_result_multi_round", answered(first, step1=form(name="Ada")))
    assert [*second.result["inputRequests"]] == ["step2"]
    assert second.result["requestState"] != first.result["requestState"]
    done = await app.call("input_required_result_multi_round", answered(second, step2=form(color="blue")))
    assert done.text == "Ada likes blue."
    # Whoever declines is not asked again.
    refused = await app.call("input_required_result_multi_round", answered(first, step1={"action": "decline"}))
    done = await app.call("input_required_result_multi_round", answered(refused, step2={"action": "cancel"}))
    assert done.text == "Nobody likes nothing."


@pytest.mark.parametrize("response", [7, "Ada", [], {}, {"action": "accept"}, form(nam="Ada"), form(name=7), None])
async def test_what_is_no_answer_is_asked_again(app: Asked, response: Any) -> None:
    asked = await app.call("input_required_result_elicitation")
    again = await app.call("input_required_result_elicitation", answered(asked, user_name=response))
    assert [*again.result["inputRequests"]] == ["user_name"]
    done = await app.call("input_required_result_elicitation", answered(again, user_name=form(name="Ada")))
    assert done.text == "Hello, Ada!"


async def test_a_state_is_of_one_call_of_one_person(app: Asked) -> None:
    name = "input_required_result_multi_round"
    state = answered(await app.call(name), step1=form(name="Ada"))
    other: list[Answer] = [
        await app.call(name, state, person=app.bob),
        await app.call("input_required_result_elicitation", state),
        await app.call(name, state | {"requestState": state["requestState"] + "-TAMPERED"}),
        await app.call(name, state | {"requestState": "A" * (MAX_STATE_LENGTH + 4)}),
        await app.call(name, state | {"requestState": 7}),
        await app.prompt(state),
    ]
    assert [(one.status, one.message["error"]["code"]) for one in other] == [(400, -32602)] * len(other)
    sealed = state["requestState"]
    for place in range(0, len(sealed), 17):
        changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
        answer = await app.call(name, state | {"requestState": changed})
        assert answer.message["error"]["code"] == -32602, place


async def test_answers_that_no_state_can_carry(app: Asked) -> None:
    first = await app.call("input_required_result_multi_round")
    long = answered(first, step1=form(name="x" * MAX_STATE_LENGTH))
    refused = await app.call("input_required_result_multi_round", long)
    assert (refused.status, refused.message["error"]["code"]) == (400, -32602)
    assert "fewer words" in refused.message["error"]["message"]


async def test_a_client_is_asked_only_what_it_declares(app: Asked) -> None:
    for able, keys in (({"sampling": {}}, ["greeting"]), ({"elicitation": {"url": {}}, "roots": {}}, ["client_roots"])):
        asked = await app.call("input_required_result_capabilities", able=able)
        assert [*asked.result["inputRequests"]] == keys
    assert (await app.call("input_required_result_capabilities", able={})).text == "0 questions were answered."
    for able in ({}, {"elicitation": {}}):
        refused = await app.call("missing_capability", able=able)
        assert (refused.status, refused.message["error"]["code"]) == (400, -32021)
        assert refused.message["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    refused = await app.call("input_required_result_elicitation", able={"elicitation": {"url": {}}})
    assert refused.message["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_a_prompt_asks_as_a_tool_does(app: Asked) -> None:
    asked = await app.prompt()
    assert [*asked.result["inputRequests"]] == ["user_context"]
    filled = await app.prompt(answered(asked, user_context=form(context="tea")))
    assert filled.result["messages"][0]["content"]["text"] == "Use the context: tea"


@pytest.mark.parametrize("revision", LEGACY)
async def test_handshake_clients_read_that_they_cannot_be_asked(app: Asked, revision: str) -> None:
    arguments = {"module": "test", "tool_name": "input_required_result_elicitation", "params": {}}
    call = {"name": "call", "arguments": arguments}
    answer = await app.node.post(app.ada.token, "tools/call", call, revision=revision)
    assert answer.failed
    assert "your MCP client cannot be asked (elicitation.form)" in answer.text


async def test_a_batch_asks_nobody(app: Asked) -> None:
    steps = [{"id": "a", "module": "test", "tool_name": "input_required_result_elicitation", "output": True}]
    call = {"name": "batch", "arguments": {"commands": steps}, "_meta": {CAPABILITIES: ABLE}}
    answer = await app.node.post(app.ada.token, "tools/call", call, revision=MODERN)
    assert answer.failed
    assert "a batch does not wait for an answer; use call" in answer.text


async def test_a_question_is_audited(app: Asked) -> None:
    async def asked() -> int:
        outcomes = await app.product.events(app.bob.tenant, AuditEventKind.CALL_OUTCOME)
        return sum((one.detail or {}).get("confirmation") == "asked" for one in outcomes)

    before = await asked()
    await app.call("input_required_result_elicitation", person=app.bob)

    async def is_recorded() -> bool:
        return await asked() == before + 1

    await within(5, is_recorded)


# --- content blocks and messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
async def test_content_blocks_in_every_revision(app: Asked, revision: str) -> None:
    async def kinds(tool_name: str) -> list[str]:
        arguments = {"module": "test", "tool_name": tool_name, "params": {}}
        answer = await app.node.post(
            app.ada.token, "tools/call", {"name": "call", "arguments": arguments}, revision=revision
        )
        assert "structuredContent" not in answer.result
        return [block["type"] for block in answer.result["content"]]

    assert await kinds("multiple_content_types") == ["text", "image", "resource"]
    assert await kinds("audio_content") == (["text"] if revision == "2024-11-05" else ["audio"])


async def test_content_in_a_batch_and_in_a_schema(app: Asked) -> None:
    steps = [{"id": "a", "module": "test", "tool_name": "multiple_content_types", "output": True}]
    call = {"name": "batch", "arguments": {"commands": steps}}
    answer = await app.node.post(app.ada.token, "tools/call", call, revision=NEWEST)
    shown = "Multiple content types test:\n[image: image/png]\n[resource: test://mixed-content-resource]\n["
    (step,) = answer.result["structuredContent"]["steps"]
    assert step["result"].startswith(shown)
    kept = orjson.loads(step["result"].removeprefix(shown)[:-1])
    part = {"handle": kept["handle"], "position": 1}
    image = (await app.node.call(app.ada.token, "results", "show_content", part)).result["content"]
    assert [(block["type"], block["mimeType"]) for block in image] == [("image", "image/png")]
    call = {"name": "get_module_schema", "arguments": {"module": "test", "tools": ["image_content"]}}
    schema = (await app.node.post(app.ada.token, "tools/call", call, revision=NEWEST)).text
    assert "content to look at" in schema
    assert UNTRUSTED not in schema


async def test_long_texts_keep_to_the_budget(app: Asked) -> None:
    call = {"name": "call", "arguments": {"module": "test", "tool_name": "long_text", "params": {}, "max_tokens": 1000}}
    answer = await app.node.post(app.ada.token, "tools/call", call, revision=NEWEST)
    partial, shown = (block["text"] for block in answer.result["content"])
    assert tokens(partial) + tokens(shown) <= 1000
    partial = orjson.loads(partial)["partial"]
    (left,) = partial["left"]
    whole = "\n".join(f"line {number}" for number in range(50_000))
    assert shown == whole[: left["next"]]
    assert (left["path"], left["characters"]) == ("content[0].text", len(whole))
    part = {"handle": partial["handle"], "path": left["path"], "start": left["next"]}
    rest = (await app.node.call(app.ada.token, "results", "read_result", part)).value
    assert whole[left["next"] :].startswith(rest["text"])
    assert rest["next"] == left["next"] + len(rest["text"])


async def test_messages_for_whoever_asks_for_them(app: Asked) -> None:
    async def messages(meta: Any) -> list[Any]:
        answer = await app.call("logging_tool", {"_meta": {CAPABILITIES: {}, **meta}})
        assert answer.text == "A message was sent."
        return [one["params"] for one in answer.messages[:-1] if one["method"] == "notifications/message"]

    told = [{"level": "warning", "logger": "test.logging_tool", "data": "A message of the tool"}]
    assert await messages({LOG_LEVEL: "debug"}) == await messages({LOG_LEVEL: "warning"}) == told
    assert await messages({LOG_LEVEL: "error"}) == await messages({}) == []
    wrong = await app.call("logging_tool", {"_meta": {CAPABILITIES: {}, LOG_LEVEL: "loud"}})
    assert (wrong.status, wrong.message["error"]["code"]) == (400, -32602)
    discovered = await app.node.post(app.ada.token, "server/discover", {}, revision=MODERN)
    assert discovered.result["capabilities"]["logging"] == {}
