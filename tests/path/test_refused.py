"""Credentials that do not count: for a client all are one and the same, the audit log tells them apart."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from core import token_format
from core.audit.event import AuditEventKind
from core.directory import tenants
from core.token_format import generate_token, parse_token
from tests.path.conftest import People
from tests.support import directory
from tests.support.mcp_client import MODERN, NEWEST
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.product import ACTOR, Node, Person, Product

MALFORMED = {
    "garbage": "Bearer hunter2",
    "empty": "Bearer ",
    "no scheme": "mcpist_abc",
    "another scheme": "Basic YWRtaW46YWRtaW4=",
    "a wrong checksum": f"Bearer {generate_token()[1].reveal()[:-6]}000000",
    "too long": "Bearer " + "x" * 9_000,
    "not ASCII": "Bearer caf\u00e9",
    "a JWT": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
}
# MCP Authorization: what to ask for first, and where the metadata of the resource are.
WHERE = 'scope="mcp:read mcp:write", resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"'


def with_other_secret(token: str) -> str:
    """Well-formed, with the id of a token that exists."""
    known, (other, _) = parse_token(token), generate_token()
    assert known is not None
    body = known.id + other.secret.reveal()
    return token_format.TOKEN_PREFIX + body + token_format._compute_checksum(body)  # pyright: ignore[reportPrivateUsage]


async def refused_tokens(product: Product, people: People) -> dict[str, Person]:
    """A token for each reason that the audit log knows; a person who is nobody stands for the unknown one."""
    acme, admin = people.acme, people.admin
    gone = await product.tenant("gone")
    unknown, text = generate_token()
    made = {
        "unknown": Person(acme, admin.id, "", unknown.id, text.reveal()),
        "wrong_secret": Person(acme, admin.id, "", admin.token_id, with_other_secret(admin.token)),
        "revoked": await product.with_token(admin),
        "user_suspended": await product.person(acme, "suspended@mail.test", allow=["*"]),
        "tenant_suspended": await product.person(gone, "admin@mail.test", allow=["*"]),
        "expired": await product.with_token(admin, expires_at=datetime.now(UTC) + timedelta(hours=1)),
    }
    await product.tokens.revoke(ACTOR, acme.id, made["revoked"].token_id)
    await directory.set_status(product.console, ACTOR, acme.id, "suspended@mail.test", "suspended")
    await tenants.set_status(product.console, ACTOR, gone.id, "suspended")
    product.clock.ahead = timedelta(hours=2)
    return made


@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_all_look_alike(product: Product, node: Node, people: People, revision: str) -> None:
    answers = {
        name: await node.post(None, "tools/list", revision=revision, headers={"authorization": value})
        for name, value in MALFORMED.items()
    }
    for reason, person in (await refused_tokens(product, people)).items():
        answers[reason] = await node.post(person.token, "tools/list", revision=revision)
    expected = answers["unknown"].comparable
    assert {name: answer.comparable for name, answer in answers.items()} == dict.fromkeys(answers, expected)
    assert expected[0] == 401
    assert expected[2] == b'{"error":"Unauthorized"}'
    assert answers["unknown"].header("www-authenticate") == f'Bearer realm="mcpist", error="invalid_token", {WHERE}'


async def test_without_a_credential_there_is_only_the_challenge(node: Node, people: People) -> None:
    """RFC 6750 §3.1: no error code for a request that brought no credential; all else is the same."""
    none = await node.post(None, "tools/list")
    wrong = await node.post("hunter2", "tools/list")
    assert none.header("www-authenticate") == f'Bearer realm="mcpist", {WHERE}'
    assert (none.status, none.body) == (wrong.status, wrong.body)
    assert [name for name, _ in none.headers] == [name for name, _ in wrong.headers]


async def test_the_audit_log_tells_them_apart(product: Product, node: Node, people: People) -> None:
    refused = await refused_tokens(product, people)
    for person in refused.values():
        await node.post(person.token, "tools/list", address="192.0.2.7")
    for reason, person in refused.items():
        events = await product.events(None if reason == "unknown" else person.tenant, AuditEventKind.AUTH_REFUSED)
        (event,) = [event for event in events if (event.detail or {}).get("reason") == reason]
        assert (event.detail or {})["address"] == "192.0.2.7"
        assert event.outcome == "denied"
        assert event.credential_id == ("" if reason == "unknown" else person.token_id)
        assert event.user_id == (None if reason == "unknown" else person.id)


async def test_the_metrics_count_them(product: Product, node: Node, people: People) -> None:
    for reason, person in (await refused_tokens(product, people)).items():
        await node.post(person.token, "tools/list")
        assert f'mcpist_auth_refused_total{{reason="{reason}"}} 1.0' in node.metrics()


@pytest.fixture
async def proxy(product: Product) -> AsyncIterator[PostgresProxy]:
    async with postgres_proxy(product.deployment.admin) as proxy:
        yield proxy


async def test_malformed_ones_cost_no_statement(product: Product, people: People, proxy: PostgresProxy) -> None:
    async with product.gateway(through=proxy.address) as node:
        assert (await node.post(people.admin.token, "ping")).status == 200
        proxy.statements.clear()
        for value in MALFORMED.values():
            assert (await node.post(None, "ping", headers={"authorization": value})).status == 401
        await node.post(None, "ping")
        # The listener's own sign of life, which no request causes.
        assert [sent for sent in proxy.statements if sent.sql != "SELECT 1"] == []
        unknown = await node.post(generate_token()[1].reveal(), "ping")
        assert unknown.status == 401
        assert len(proxy.statements) > 2, "the proxy sees what a well-formed token costs"
        assert f"mcpist_credentials_malformed_total {len(MALFORMED)}.0" in node.metrics()
    (event,) = await product.events(None, AuditEventKind.AUTH_MALFORMED)
    assert event.detail == {"count": len(MALFORMED)}


async def test_one_event_for_all_malformed_ones_of_a_minute(product: Product, node: Node) -> None:
    for number in range(30):
        await node.post(f"malformed-{number}", "ping")
    assert await product.events(None, AuditEventKind.AUTH_MALFORMED) == [], "it comes when the minute is over"
    node.gateway.refusals.flush()
    await node.post(generate_token()[1].reveal(), "ping")  # durable before its answer, and so is what was queued before
    (event,) = await product.events(None, AuditEventKind.AUTH_MALFORMED)
    assert event.detail == {"count": 30}


async def test_a_good_token_next_to_bad_ones_still_counts(product: Product, node: Node, people: People) -> None:
    for person in (await refused_tokens(product, people)).values():
        await node.post(person.token, "tools/list")
    assert (await node.post(people.admin.token, "tools/list")).status == 200


async def test_the_token_is_taken_in_one_place_only(node: Node, people: People) -> None:
    """Neither a query nor another header carries a credential (MCP Authorization, Token Requirements)."""
    headers = {"x-api-key": people.admin.token, "cookie": f"token={people.admin.token}"}
    assert (await node.post(None, "tools/list", headers=headers)).status == 401
    lower = await node.post(None, "tools/list", headers={"authorization": f"bearer {people.admin.token}"})
    assert lower.status == 200, "the scheme's case does not matter (RFC 9110 §11.1)"
