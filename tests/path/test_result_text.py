"""An answer says a result once where its client is known to show its model the structured part, and twice elsewhere."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from broker.authorization_server.registered_clients import NewClient, RegisteredClients
from broker.vault.key_wrapping import load_or_create
from core.db import Database
from server.role_database import BROKER_ROLE, open_role_database
from tests.broker.authorization_server.grants import add_grant
from tests.path.conftest import People, SharedProduct, on_shared_product
from tests.path.test_access_tokens import RESOURCE, Gate, Issuer, gate_of, issuing
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY, MODERN, NEWEST, Answer
from tests.support.product import ACTOR, Node, Person, Product

STRUCTURED = ("2025-06-18", "2025-11-25", MODERN)
SHORT = "The result is in structuredContent."
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"
SAID = "a distinct thing that is longer than the short text"
CODEX = "https://chatgpt.com/oauth/codex/client.json"
LOOK = {"module": "lab", "tool_name": "look", "params": {"at": SAID}}
STEPS = [{"id": "a", **LOOK, "output": True}, {"id": "b", **LOOK}, {"id": "c", "module": "lab", "tool_name": "fail"}]
ASKED: dict[str, dict[str, Any]] = {
    "get_module_schema": {"module": "knowledge_graph"},
    "call": LOOK,
    "batch": {"commands": STEPS},
}


async def ask(node: Node, person: Person, name: str = "call", revision: str = NEWEST, **options: Any) -> Answer:
    return await node.tool(person.token, name, ASKED[name], revision=revision, **options)


async def is_short(node: Node, person: Person, revision: str = NEWEST, **options: Any) -> bool:
    answer = await ask(node, person, revision=revision, **options)
    assert answer.result["structuredContent"] == {"said": SAID}
    assert answer.text in (SHORT, f'{{"said":"{SAID}"}}')
    return answer.text == SHORT


async def named(node: Node, person: Person, name: str, revision: str = MODERN) -> bool:
    """Whether a client that names itself so gets the short text."""
    arguments = {"name": "call", "arguments": LOOK, "_meta": {CLIENT_INFO: {"name": name, "version": "1"}}}
    return (await node.post(person.token, "tools/call", arguments, revision=revision)).text == SHORT


# --- a setting of the token -------------------------------------------------------------------------------------------


@on_shared_product
@pytest.mark.parametrize("revision", STRUCTURED)
@pytest.mark.parametrize("name", ASKED)
async def test_a_token_for_short_text(product: Product, node: Node, people: People, name: str, revision: str) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    full, answer = await ask(node, people.admin, name, revision), await ask(node, short, name, revision)
    assert answer.result["structuredContent"] == full.result["structuredContent"]
    assert answer.result["isError"] == full.result["isError"]
    expected = {"batch": "a ok\nb ok\nc error: it did not work; try something else"}
    assert answer.text == expected.get(name, SHORT)
    assert len(full.text) > len(answer.text)


@on_shared_product
@pytest.mark.parametrize("revision", LEGACY[:2])
@pytest.mark.parametrize("name", ASKED)
async def test_without_a_structured_part_the_text_is_whole(
    product: Product, node: Node, people: People, name: str, revision: str
) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    full, answer = await ask(node, people.admin, name, revision), await ask(node, short, name, revision)
    assert "structuredContent" not in answer.result
    assert answer.comparable == full.comparable


@on_shared_product
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("call", {"module": "lab", "tool_name": "fail"}),
        ("call", {"module": "lab", "tool_name": "made_up"}),
        ("call", {**LOOK, "params": {"att": 1}}),
        ("get_module_schema", {"module": "made_up"}),
        ("batch", {"commands": [{}]}),
        ("batch", {"commands": [{"id": "a", "module": "lab", "tool_name": "fail"}]}),
        ("batch", {"commands": [{"id": "a", **LOOK}], "dry_run": True}),
    ],
)
async def test_errors_and_plans_are_told_whole(
    product: Product, node: Node, people: People, name: str, arguments: dict[str, Any]
) -> None:
    """Claude Code shows its model an error's text, whatever there is beside it."""
    short = await product.with_token(people.admin, tool_result_format="short")
    answers = [await node.tool(person.token, name, arguments) for person in (people.admin, short)]
    assert answers[0].comparable == answers[1].comparable


@on_shared_product
async def test_a_failed_batch_keeps_the_results_in_its_text(product: Product, node: Node, people: People) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    steps = [STEPS[0], {**STEPS[2], "output": True}]
    answer = await node.tool(short.token, "batch", {"commands": steps})
    assert answer.failed
    assert SAID in answer.text


@on_shared_product
async def test_a_result_that_is_shorter_is_said_whole(product: Product, node: Node, people: People) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    assert (await node.call(short.token, "lab", "look", {"at": "x"})).text == '{"said":"x"}'


@on_shared_product
async def test_a_note_stays_beside_the_short_text(product: Product, node: Node, people: People) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    answer = await node.tool(short.token, "call", {**LOOK, "wait_for_previous": True})
    assert [block["text"] for block in answer.result["content"]] == [
        SHORT,
        'Note: call has no argument "wait_for_previous"; it was ignored.',
    ]


@on_shared_product
async def test_a_schema_is_half_as_long_on_the_wire(product: Product, node: Node, people: People) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    full, answer = [
        await node.tool(person.token, "get_module_schema", {"module": "github"}) for person in (people.admin, short)
    ]
    assert len(answer.body) < 0.5 * len(full.body)


# --- what the client says of itself -----------------------------------------------------------------------------------


@on_shared_product
async def test_a_client_that_was_seen_is_known_by_its_name(product: Product, node: Node, people: People) -> None:
    assert await named(node, people.admin, "claude-code")
    for name in ("codex-mcp-client", "claude-code-2", "Claude-Code", "claude", "mcp", ""):
        assert not await named(node, people.admin, name), name
    # Handshake revisions know no such field of a request, and a client may write what it likes into their `_meta`.
    assert not await named(node, people.admin, "claude-code", NEWEST)
    assert not await is_short(node, people.admin)
    assert not await is_short(node, people.admin, headers={"user-agent": "claude-code/2.1.330"})
    assert not await is_short(node, people.admin, MODERN, headers={"user-agent": "claude-code/2.1.330"})


@on_shared_product
async def test_the_token_s_setting_comes_before_the_client_s_name(product: Product, node: Node, people: People) -> None:
    full = await product.with_token(people.admin, tool_result_format="full")
    short = await product.with_token(people.admin, tool_result_format="short")
    assert not await named(node, full, "claude-code")
    assert await named(node, short, "anything")


@on_shared_product
async def test_one_token_s_setting_is_nobody_else_s(product: Product, node: Node, people: People) -> None:
    short = await product.with_token(people.admin, tool_result_format="short")
    assert await is_short(node, short)
    for person in (people.admin, people.reader, people.other_admin, people.other_reader):
        assert not await is_short(node, person)


# --- OAuth clients ----------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def broker_database(shared_product: SharedProduct) -> AsyncIterator[Database]:
    deployment = shared_product.product.deployment
    async with open_role_database(deployment, BROKER_ROLE, max_connections=3) as database:
        yield database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def issuer(shared_product: SharedProduct, broker_database: Database) -> AsyncIterator[Issuer]:
    async with issuing(shared_product.product, broker_database) as issuer:
        yield issuer


@pytest.fixture
def clients(product: Product, broker_database: Database) -> RegisteredClients:
    return RegisteredClients(broker_database, load_or_create(product.deployment.peppers), clock=product.clock)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gates(shared_product: SharedProduct, issuer: Issuer) -> AsyncIterator[tuple[Gate, Gate]]:
    async with gate_of(shared_product.product) as first, gate_of(shared_product.product) as second:
        yield first, second


async def signed_in_by(issuer: Issuer, person: Person, client_id: str) -> Person:
    """The person with a token of that client."""
    clock: Any = issuer.product.clock
    whose = (person.tenant.id, person.id)
    grant = await add_grant(issuer.database, clock, *whose, resource=RESOURCE, client_id=client_id)
    return Person(person.tenant, person.id, person.email, str(grant.id), await issuer.token(grant))


@on_shared_product
@pytest.mark.parametrize(
    ("client_id", "short"),
    [
        (CLAUDE_CODE, True),
        (CODEX, True),
        (f"{CLAUDE_CODE}/", False),
        ("https://claude.ai.example/oauth/claude-code-client-metadata", False),
        ("https://client.example.com/metadata.json", False),
        ("dyn_0123456789012345678901", False),
    ],
)
async def test_a_client_is_known_by_its_metadata_document(
    issuer: Issuer, gates: tuple[Gate, Gate], people: People, client_id: str, short: bool
) -> None:
    for person in (people.admin, people.other_admin):
        admin = await signed_in_by(issuer, person, client_id)
        for revision in STRUCTURED:
            assert await is_short(gates[0].node, admin, revision) == short
        assert (await ask(gates[0].node, admin, "call", LEGACY[0])).text != SHORT


@on_shared_product
async def test_a_registered_client_s_setting_holds_within_a_second(
    issuer: Issuer, clients: RegisteredClients, gates: tuple[Gate, Gate], people: People
) -> None:
    asked = NewClient(name="App", redirect_uris=("https://app.example.com/cb",), tool_result_format="short")
    made, _ = await clients.create(ACTOR, people.acme.id, asked)
    theirs, _ = await clients.create(ACTOR, people.globex.id, asked)
    admin = await signed_in_by(issuer, people.admin, made.id)
    other = await signed_in_by(issuer, people.other_admin, theirs.id)
    for gate in gates:
        assert await is_short(gate.node, admin)
        assert await is_short(gate.node, other)
    for wanted in ("full", "short", None):
        await clients.change(ACTOR, people.acme.id, made.id, tool_result_format=wanted)
        for gate in gates:

            async def holds(gate: Gate = gate, wanted: str | None = wanted) -> bool:
                return await is_short(gate.node, admin) == (wanted == "short")

            await within(1.0, holds)
            assert await is_short(gate.node, other), "another tenant's client keeps its own"
    assert await named(gates[0].node, admin, "claude-code"), "without a setting the client's name counts"


@on_shared_product
async def test_a_registered_client_s_budget_holds_within_a_second(
    issuer: Issuer, clients: RegisteredClients, gates: tuple[Gate, Gate], people: People
) -> None:
    asked = NewClient(name="App", redirect_uris=("https://app.example.com/cb",), result_tokens=400)
    made, _ = await clients.create(ACTOR, people.acme.id, asked)
    admin = await signed_in_by(issuer, people.admin, made.id)

    async def shown() -> int:
        return len((await gates[1].node.call(admin.token, "lab", "big", {"size": 100_000})).value["said"])

    frugal = await shown()
    assert frugal < 1_000
    await clients.change(ACTOR, people.acme.id, made.id, result_tokens=4_000)

    async def holds() -> bool:
        return await shown() > 5 * frugal

    await within(1.0, holds)


@on_shared_product
async def test_another_tenant_s_client_changes_nothing(
    issuer: Issuer, clients: RegisteredClients, gates: tuple[Gate, Gate], people: People
) -> None:
    """A grant that names a client of another tenant, as none does."""
    asked = NewClient(name="App", redirect_uris=("https://app.example.com/cb",), tool_result_format="short")
    theirs, _ = await clients.create(ACTOR, people.globex.id, asked)
    admin = await signed_in_by(issuer, people.admin, theirs.id)
    assert not await is_short(gates[0].node, admin)
