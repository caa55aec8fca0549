"""A write that may have arrived is never asked to be repeated, whatever goes wrong after it was sent."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from broker.vault.credential_store import CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.config.settings import Settings
from core.db import Database
from core.errors import Unavailable
from core.secret import Secret
from gateway.catalogue import build_catalogue, load_installed_modules
from gateway.vendor_session.answer_reader import MAX_BODY_BYTES
from modules.kit import OUTCOME_UNKNOWN
from server.deployment import KEYS_FOLDER
from server.local_call import open_local_caller
from server.operator_context import OperatorContext, open_operator_context_on
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import VAULT_KEYS_FILE
from tests.gateway.vendor_session.doubles import Exchange, RawVendor, Script, answering, hanging_up, silent
from tests.support.ledger import Gate, ledger_module
from tests.support.mcp_client import MODERN, Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Node, Person, Product, product_on
from tests.support.stored_credentials import list_stored

MADE = b'{"id":5,"url":"https://ledger.test/5"}'
TIMEOUT = 3.0
OPENS_URLS = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}}
REPEAT = re.compile(r"(?<!before you )try (it )?(again|anew|once more)|call again|ask for less|repeat", re.IGNORECASE)
"""What asks for the same call once more; after looking, somebody may."""


@dataclass
class Counter:
    """A product whose module `ledger` has a vendor that plays scripts."""

    product: Product
    node: Node
    vendor: RawVendor
    gate: Gate
    ada: Person
    eve: Person
    credentials: CredentialStore
    broker: Database

    async def call(self, tool: str, person: Person | None = None, **params: Any) -> Answer:
        return await self.node.call((person or self.ada).token, "ledger", tool, params)

    def written(self) -> int:
        return sum(request.method != "GET" for request in self.vendor.requests)


@pytest.fixture
async def counter(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Counter]:
    async with open_counter(database, tmp_path / "home") as counter:
        yield counter


@contextlib.asynccontextmanager
async def open_counter(database: ScratchDatabase, home: Path) -> AsyncIterator[Counter]:
    """A product with the ledger, and one person in each of two tenants."""
    gate = Gate()
    async with contextlib.AsyncExitStack() as stack:
        vendor = await stack.enter_async_context(RawVendor())
        catalogue = build_catalogue([*load_installed_modules().modules, ledger_module(vendor.url, gate)])
        product = await stack.enter_async_context(product_on(database, home, catalogue=catalogue))
        opening = product.gateway(allowed_private_hosts=(f"127.0.0.1:{vendor.port}",), call_timeout=TIMEOUT)
        node = await stack.enter_async_context(opening)
        broker = await stack.enter_async_context(open_role_database(product.deployment, BROKER_ROLE, max_connections=2))
        keys = InMemoryKeyProvider.from_file(product.deployment.home / KEYS_FOLDER / VAULT_KEYS_FILE)
        credentials = CredentialStore(broker, await open_vault(broker, keys, clock=get_utc_now), clock=get_utc_now)
        ada, eve = [await _person(product, credentials, slug) for slug in ("acme", "globex")]
        yield Counter(product, node, vendor, gate, ada, eve, credentials, broker)


async def _person(product: Product, credentials: CredentialStore, slug: str) -> Person:
    tenant = await product.tenant(slug)
    person = await product.person(tenant, f"ada@{slug}.test", allow=["*"])
    owner = await credentials.resolve_owner(tenant.id, email=person.email)
    await credentials.put(ACTOR, tenant.id, "ledger", owner, Secret(f"{slug}-key-0123456789"), "an account")
    return person


async def cut_off(exchange: Exchange) -> None:
    exchange.write(b'HTTP/1.1 201 Created\r\nContent-Length: 90\r\n\r\n{"id":5,')
    exchange.hang_up()


async def too_large(exchange: Exchange) -> None:
    exchange.write(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n{" % (MAX_BODY_BYTES + 1))


async def broken_gzip(exchange: Exchange) -> None:
    exchange.send(201, b"no gzip at all", content_encoding="gzip")


UNREADABLE: dict[str, Script] = {
    "html": answering(201, b"<html>Welcome to the guest network</html>", content_type="text/html"),
    "empty": answering(201, b""),
    "fields": answering(201, b'{"id":5}'),
    "types": answering(201, b'{"id":"five","url":7}'),
    "list": answering(200, b"[]"),
    "json": answering(201, b'{"id":5,'),
    "large": too_large,
    "cut off": cut_off,
    "gzip": broken_gzip,
    "hung up": hanging_up,
    "502": answering(502, b"<html>Bad Gateway</html>"),
    "503": answering(503, b"", retry_after="120"),
    "504": answering(504, b""),
    "302": answering(302, b"", location="/entries/5"),
}


async def test_an_answer_to_a_write_that_cannot_be_read(counter: Counter) -> None:
    for what, script in UNREADABLE.items():
        counter.vendor.scripts = [script]
        counter.vendor.requests.clear()
        for person in (counter.ada, counter.eve):
            answer = await counter.call("add_entry", person)
            assert answer.failed, what
            assert OUTCOME_UNKNOWN in answer.text, (what, answer.text)
            assert not REPEAT.search(answer.text), (what, answer.text)
        assert counter.written() == 2, f"{what}: one for each call, nothing is sent again"


@pytest.mark.parametrize("tool", ["read_entry", "put_entry"])
async def test_the_same_answers_to_what_may_be_repeated(counter: Counter, tool: str) -> None:
    for what in UNREADABLE.keys() - {"302"}:
        counter.vendor.scripts = [UNREADABLE[what]]
        answer = await counter.call(tool)
        assert answer.failed, what
        assert OUTCOME_UNKNOWN not in answer.text, (what, answer.text)
        assert REPEAT.search(answer.text), (what, answer.text)


async def test_a_write_that_is_not_answered_in_time(counter: Counter) -> None:
    counter.vendor.scripts = [silent]
    answer = await counter.call("add_entry")
    assert OUTCOME_UNKNOWN in answer.text
    assert not REPEAT.search(answer.text), answer.text


async def test_a_write_that_was_refused_was_not_made(counter: Counter) -> None:
    refusals = {
        400: "invalid",
        403: "permit",
        409: "conflict",
        422: "invalid",
        429: "try again in 30 s",
        401: "refuses",
    }
    for status, told in refusals.items():
        counter.vendor.scripts = [answering(status, b"{}", **({"retry_after": "30"} if status == 429 else {}))]
        answer = await counter.call("add_entry", counter.eve if status == 429 else None)
        assert OUTCOME_UNKNOWN not in answer.text, status
        assert told in answer.text, status


AFTER: dict[str, list[Script]] = {
    "add_and_look_up": [answering(201, MADE), answering(503, b"", retry_after="120")],
    "add_and_refuse": [answering(201, MADE)],
    "add_and_reword": [answering(201, b"<html>")],
    "add_and_crash": [answering(201, MADE)],
}


@pytest.mark.parametrize("tool", AFTER)
async def test_what_goes_wrong_after_a_write(counter: Counter, tool: str) -> None:
    counter.vendor.scripts = [*AFTER[tool], answering(404)]
    answer = await counter.call(tool)
    assert answer.failed
    assert OUTCOME_UNKNOWN in answer.text, answer.text
    assert not REPEAT.search(answer.text), answer.text
    assert counter.written() == 1


@pytest.mark.parametrize("broken", [False, True])
async def test_an_account_that_is_refused_after_a_write(counter: Counter, broken: bool) -> None:
    """Clients that can be asked to connect would make the same call again: nobody is asked."""

    async def refused(exchange: Exchange) -> None:
        if broken:
            (key,) = await list_stored(counter.broker, counter.ada.tenant.id)
            await counter.credentials.mark_broken(counter.ada.tenant.id, key.id, key.version, "rejected")
        exchange.send(401)

    counter.vendor.scripts = [answering(201, MADE), refused]
    arguments = {"module": "ledger", "tool_name": "add_and_look_up", "params": {}}
    answer = await counter.node.post(
        counter.ada.token, "tools/call", {"name": "call", "arguments": arguments} | OPENS_URLS, revision=MODERN
    )
    assert answer.failed
    assert "refuses your account" in answer.text
    assert OUTCOME_UNKNOWN in answer.text, answer.text
    assert not REPEAT.search(answer.text), answer.text
    assert counter.written() == 1


async def test_what_goes_wrong_before_a_write_says_nothing_of_it(counter: Counter) -> None:
    answer = await counter.call("crash_first")
    assert "failed inside MCPist" in answer.text
    assert OUTCOME_UNKNOWN not in answer.text
    counter.vendor.scripts = [answering(422)]
    assert OUTCOME_UNKNOWN not in (await counter.call("add_and_look_up")).text


async def test_a_call_that_is_stopped_at_its_deadline(counter: Counter) -> None:
    counter.vendor.scripts = [answering(201, MADE)]
    answer = await counter.call("add_and_wait")
    assert "took longer than" in answer.text
    assert OUTCOME_UNKNOWN in answer.text
    assert not REPEAT.search(answer.text), answer.text
    answer = await counter.call("wait_first")
    assert "took longer than" in answer.text
    assert OUTCOME_UNKNOWN not in answer.text


async def test_a_call_of_the_operator_that_takes_too_long(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OperatorContext, "catalogue", counter.product.catalogue)
    counter.vendor.scripts = [answering(201, MADE)]
    deployment, ada = counter.product.deployment, counter.ada
    hosts = (f"127.0.0.1:{counter.vendor.port}",)
    settings = Settings(home=deployment.home, call_timeout=1.0, allowed_private_hosts=hosts)
    async with (
        open_operator_context_on(deployment) as operating,
        open_local_caller(operating, settings, ada.tenant.id, ada.id) as caller,
    ):
        with pytest.raises(Unavailable, match="took too long") as sent:
            await caller.call("ledger", "add_and_wait", {})
        with pytest.raises(Unavailable, match="MCPIST_CALL_TIMEOUT") as unsent:
            await caller.call("ledger", "wait_first", {})
    assert OUTCOME_UNKNOWN in str(sent.value)
    assert OUTCOME_UNKNOWN not in str(unsent.value)


async def test_steps_of_a_batch(counter: Counter) -> None:
    """Each step speaks of its own changes alone."""
    counter.vendor.scripts = [answering(201, MADE), answering(201, b"<html>")]
    steps: list[dict[str, Any]] = [
        {"id": "one", "module": "ledger", "tool_name": "add_entry"},
        {"id": "two", "module": "ledger", "tool_name": "add_entry", "after": ["one"]},
    ]
    answer = await counter.node.tool(counter.ada.token, "batch", {"commands": steps})
    assert OUTCOME_UNKNOWN in answer.text
    assert not REPEAT.search(answer.text), answer.text
    counter.vendor.scripts = [answering(201, MADE), answering(503, b"", retry_after="60")]
    steps[1]["tool_name"] = "read_entry"
    answer = await counter.node.tool(counter.ada.token, "batch", {"commands": steps})
    assert "try again in 60 s" in answer.text
    assert OUTCOME_UNKNOWN not in answer.text


async def test_a_fault_after_the_tool_has_ended(counter: Counter) -> None:
    counter.vendor.scripts = [answering(201, MADE)]
    answer = await counter.call("add_and_garble")
    assert OUTCOME_UNKNOWN in answer.message["error"]["message"]


async def test_a_result_that_is_too_large_to_be_shown(counter: Counter) -> None:
    """It is no error: what was changed is known, and the whole is kept."""
    url = b"x" * (5 * 2**20)
    counter.vendor.scripts = [answering(201, b'{"id":5,"url":"%b"}' % url)]
    answer = await counter.call("add_entry")
    assert not answer.failed
    assert answer.value["partial"]["handle"]
    assert not REPEAT.search(answer.text), answer.text


async def test_a_commit_whose_answer_is_lost(counter: Counter) -> None:
    """The module's own rows: the database goes away in the very moment of the commit."""
    async with counter.product.database.admin_connection() as admin:
        await admin.execute(_DIE_AT_COMMIT)
    entity = {"name": "x", "entityType": "t", "observations": []}
    answer = await counter.node.call(counter.ada.token, "knowledge_graph", "create_entities", {"entities": [entity]})
    assert answer.failed
    assert OUTCOME_UNKNOWN in answer.text, answer.text
    assert not REPEAT.search(answer.text), answer.text


async def test_two_calls_at_once_do_not_speak_for_each_other(counter: Counter) -> None:
    counter.vendor.scripts = [answering(201, MADE)]
    waiting = asyncio.create_task(counter.call("add_and_wait"))
    await counter.gate.reached.wait()
    answer = await counter.call("crash_first", counter.eve)
    assert OUTCOME_UNKNOWN not in answer.text
    counter.gate.opened.set()
    assert not (await waiting).failed


# A deferred trigger runs inside of COMMIT; the backend that it ends has not answered it.
_DIE_AT_COMMIT = """
CREATE FUNCTION modules.die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER die AFTER INSERT ON modules.kg_entities DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION modules.die();
"""
