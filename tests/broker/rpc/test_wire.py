"""The broker's port as an attacker, a taken-over gateway and a bad network meet it."""

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import aiohttp
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from broker.interface import (
    BrokerUnreachable,
    CredentialRefusal,
    Lease,
    LeaseRequest,
    Mandate,
    MandatePurpose,
    MandateReference,
    MandateRequest,
    NoCredential,
    NoTenantKey,
    RefusalReason,
    TenantKeyLease,
)
from broker.rpc.app import BURST, BrokerApp
from broker.rpc.codec import (
    CREATE_MANDATE,
    END_MANDATE,
    EXCHANGE,
    MAX_SUBJECTS,
    MOST_REQUEST,
    PATHS,
    STATUS,
    TENANT_KEY,
    VERIFY,
    VERIFY_AGAIN,
    WORKER_EXCHANGE,
    WORKER_PATHS,
    WORKER_TENANT_KEY,
    WORKER_VERIFY,
    BrokerResponse,
    decode_result,
    encode_lease_request,
    encode_result,
    encode_subject_request,
    encode_subjects_request,
)
from broker.rpc.mandate_messages import (
    encode_mandate_request,
    encode_reference,
    encode_worker_lease_request,
)
from broker.rpc.rpc_client import HttpBroker, open_http_broker
from broker.rpc.service_token import ANSWER_HEADER, ServiceTokenSigner, compute_answer_mark
from broker.rpc.tenant_key_messages import (
    TenantKeyPayload,
    TenantKeyResponse,
    encode_tenant_key_request,
    encode_worker_tenant_key_request,
)
from core.caller import Credential
from core.connection_state import ModuleConnection
from core.errors import Unavailable
from core.http.credential_headers import CredentialScheme
from core.secret import Secret
from gateway.auth.authenticator import MAX_RENEWALS
from tests.broker.broker_harness import BrokerHarness
from tests.broker.contract import an_ada, leased
from tests.support.http_broker import Served, served_over_http
from tests.support.running_product import free_port
from tests.support.shifting_relay import relayed

VENDOR_TOKEN = "ghp_the-vendor-s-token"
LEASE = Lease(Secret(VENDOR_TOKEN), 3, 60.0, "personal", uuid4(), {"base_url": "https://x.test", "n": [1, None]},
    True, ("https://x.test", "http://[::1]:8"), {"site": "c-1", "site_name": "Ä b"},
    CredentialScheme("basic_user", fixed="api_token"), "a-1.7",
)  # fmt: skip


@dataclass
class Scripted:
    """A broker that answers what a test says."""

    answer: Any = LEASE
    asked: list[Any] = field(default_factory=list)

    async def _say(self, asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        return await self._say(token)

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        return await self._say((tenant_id, tokens))

    async def get_connections(self, subject: Secret) -> dict[str, ModuleConnection] | CredentialRefusal:
        return await self._say(subject)

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        return await self._say(request)

    async def lease_tenant_key(
        self, subject: Secret | MandateReference, kind: str
    ) -> TenantKeyLease | NoTenantKey | CredentialRefusal:
        return await self._say((subject, kind))

    async def create_mandate(self, request: MandateRequest) -> Mandate | CredentialRefusal:
        return await self._say(request)

    async def verify_mandate(self, reference: MandateReference) -> Credential | CredentialRefusal:
        return await self._say(reference)

    async def end_mandate(self, reference: MandateReference) -> None:
        await self._say(reference)


CREDENTIAL = Credential("token-1", "api_token", uuid4(), uuid4(), frozenset({"mcp:read"}), generation=3)
SUBJECT = Secret("mcpist_subject")
ASKS = LeaseRequest(SUBJECT, "github", "list_repositories", 2)
NEXT_YEAR = datetime.now(UTC) + timedelta(days=365)
TOOLS = (("github", "list_repositories"), ("notion", "search"))
WANTED = MandateRequest(SUBJECT, MandatePurpose.JOB, uuid4(), "Ä title", TOOLS, NEXT_YEAR)
REFERENCE = MandateReference(uuid4(), WANTED.purpose_id)
MANDATE = Mandate(REFERENCE.mandate_id, uuid4(), uuid4(), MandatePurpose.JOB, WANTED.purpose_id, NEXT_YEAR)
BY_MANDATE = LeaseRequest(REFERENCE, "github", "list_repositories", 2)
KEY_LEASE = TenantKeyLease(Secret("pa-the-tenant-s-key"), 60.0, ("https://voyage.test",))
BODIES = {
    VERIFY: encode_subject_request(SUBJECT),
    VERIFY_AGAIN: encode_subjects_request(CREDENTIAL.tenant_id, [SUBJECT]),
    STATUS: encode_subject_request(SUBJECT),
    EXCHANGE: encode_lease_request(SUBJECT, ASKS),
    TENANT_KEY: encode_tenant_key_request(SUBJECT, "voyage"),
    CREATE_MANDATE: encode_mandate_request(WANTED),
    END_MANDATE: encode_reference(REFERENCE),
    WORKER_VERIFY: encode_reference(REFERENCE),
    WORKER_EXCHANGE: encode_worker_lease_request(REFERENCE, BY_MANDATE),
    WORKER_TENANT_KEY: encode_worker_tenant_key_request(REFERENCE, "voyage"),
}
"""A request for each path."""


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture(params=["tcp", "unix"])
async def served(scripted: Scripted, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    async with served_over_http(scripted, tmp_path, unix=request.param == "unix") as made:
        yield made


@pytest.fixture
async def tcp(scripted: Scripted, tmp_path: Path) -> AsyncIterator[Served]:
    async with served_over_http(scripted, tmp_path) as made:
        yield made


@dataclass(frozen=True)
class Heard:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


async def post(served: Served, path: str, body: bytes, token: str | None, **options: Any) -> Heard:
    """A request made by hand; all that the answer says but for the date, and for whose answer it is."""
    headers = {} if token is None else {"Authorization": token}
    async with (
        aiohttp.ClientSession() as session,
        session.request(options.get("method", "POST"), served.url + path, data=body, headers=headers) as response,
    ):
        said = sorted(
            (name.lower(), value) for name, value in response.headers.items() if name not in ("Date", "mcpist-answers")
        )
        return Heard(response.status, tuple(said), await response.read())


def bearer(key: ServiceTokenSigner, path: str, body: bytes, method: str = "POST") -> str:
    return "Bearer " + key.sign(method, path, body)


async def test_what_the_broker_knows_of_a_client_reaches_the_gateway(served: Served, scripted: Scripted) -> None:
    scripted.answer = replace(CREDENTIAL, tool_result_format="short")
    assert await served.client.verify(Secret("mcpist_subject")) == scripted.answer


def test_brokers_and_gateways_of_other_versions_understand_each_other() -> None:
    """While a deployment is updated, they are of two versions: a field that is not there yet has its default, and one
    that only the other knows is passed over."""
    told = msgspec.json.decode(encode_result(replace(CREDENTIAL, tool_result_format="short")))
    del told["credential"]["tool_result_format"]
    assert decode_result(msgspec.json.encode(told)) == CREDENTIAL
    told["credential"]["of_a_later_version"] = {"x": 1}
    assert decode_result(msgspec.json.encode(told)) == CREDENTIAL


async def test_both_ways_of_listening(served: Served, scripted: Scripted) -> None:
    assert await served.client.lease(ASKS) == LEASE
    assert scripted.asked == [ASKS]
    scripted.answer = refused = CredentialRefusal(RefusalReason.EXPIRED, uuid4(), uuid4(), "abc")
    assert await served.client.verify(Secret("x")) == refused
    assert await served.client.get_connections(Secret("x")) == refused
    scripted.answer = {}
    assert await served.client.get_connections(Secret("x")) == {}


async def test_the_answer_to_another_request_is_none(tcp: Served, scripted: Scripted) -> None:
    """What stands between gateway and broker gives an answer once too often."""
    async with (
        relayed(int(tcp.url.rpartition(":")[2])) as relay,
        open_http_broker(f"http://127.0.0.1:{relay.port}", tcp.key) as client,
    ):
        for number in range(4):
            scripted.answer = mine = replace(LEASE, access_token=Secret(f"token {number}"))
            with contextlib.suppress(Unavailable):  # never another's: whoever asked asks again
                assert await client.lease(ASKS) == mine
            await relay.repeat()
        assert await client.lease(ASKS) == mine
        assert relay.connections > 1


@pytest.mark.parametrize("path", PATHS + WORKER_PATHS)
async def test_the_same_bytes_twice(tcp: Served, scripted: Scripted, path: str) -> None:
    body = BODIES[path]
    answers = {STATUS: {}, VERIFY_AGAIN: [CREDENTIAL], TENANT_KEY: KEY_LEASE, WORKER_TENANT_KEY: KEY_LEASE}
    scripted.answer = answers.get(path, LEASE)
    token = bearer(tcp.worker_key if path in WORKER_PATHS else tcp.key, path, body)
    assert (await post(tcp, path, body, token)).status == 200
    assert (await post(tcp, path, body, token)).status == 401
    assert len(scripted.asked) == 1


@pytest.mark.guarantee("G10")
async def test_each_path_is_for_one_kind_of_process(tcp: Served, scripted: Scripted) -> None:
    """A gateway presents no mandate, and a worker no person's credential."""
    assert set(BODIES) == {*PATHS, *WORKER_PATHS}
    for path, body in BODIES.items():
        other = tcp.key if path in WORKER_PATHS else tcp.worker_key
        heard = await post(tcp, path, body, bearer(other, path, body))
        assert (heard.status, heard.body) == (401, b'{"error":"unauthorized"}'), path
    for ask in (
        tcp.client.verify_mandate(REFERENCE),
        tcp.client.lease(BY_MANDATE),
        tcp.worker.verify(SUBJECT),
        tcp.worker.lease(ASKS),
        tcp.worker.create_mandate(WANTED),
        tcp.client.lease_tenant_key(REFERENCE, "voyage"),
        tcp.worker.lease_tenant_key(SUBJECT, "voyage"),
    ):
        with pytest.raises(Unavailable):
            await ask
    assert scripted.asked == []


async def test_several_credentials_travel_whole_and_each_in_its_place(served: Served, scripted: Scripted) -> None:
    scripted.answer = [None, CREDENTIAL]
    tenant_id, tokens = CREDENTIAL.tenant_id, [Secret("mcpist_one"), Secret("mcpist_two")]
    assert list(await served.client.verify_again(tenant_id, tokens)) == [None, CREDENTIAL]
    assert [(asked, list(of)) for asked, of in scripted.asked] == [(tenant_id, tokens)]
    for wrong in ([CREDENTIAL], [CREDENTIAL] * 3):
        scripted.answer = wrong
        with pytest.raises(Unavailable):
            await served.client.verify_again(tenant_id, tokens)


async def test_no_more_are_asked_about_than_one_answer_may_hold(served: Served, scripted: Scripted) -> None:
    assert MAX_RENEWALS <= MAX_SUBJECTS
    longest = replace(CREDENTIAL, id="i" * 100, client="\U0001f600" * 200, audit_pass="p" * 74, expires_at=NEXT_YEAR)
    scripted.answer = [longest] * MAX_SUBJECTS
    tokens = [SUBJECT] * MAX_SUBJECTS
    assert list(await served.client.verify_again(CREDENTIAL.tenant_id, tokens)) == scripted.answer
    with pytest.raises(Unavailable):
        await served.client.verify_again(CREDENTIAL.tenant_id, [*tokens, SUBJECT])


async def test_mandates_travel_whole(served: Served, scripted: Scripted) -> None:
    scripted.answer = MANDATE
    assert await served.client.create_mandate(WANTED) == MANDATE
    await served.client.end_mandate(REFERENCE)
    scripted.answer = CREDENTIAL
    assert await served.worker.verify_mandate(REFERENCE) == CREDENTIAL
    scripted.answer = LEASE
    assert await served.worker.lease(BY_MANDATE) == LEASE
    assert scripted.asked == [WANTED, REFERENCE, REFERENCE, BY_MANDATE]
    scripted.answer = CredentialRefusal(RefusalReason.UNKNOWN)
    assert [await client.find_problem() for client in (served.client, served.worker)] == [None, None]


async def test_tenant_keys_travel_whole(served: Served, scripted: Scripted) -> None:
    refused = CredentialRefusal(RefusalReason.USER_SUSPENDED, uuid4(), uuid4(), "abc")
    for scripted.answer in (KEY_LEASE, NoTenantKey("missing"), NoTenantKey("unreadable"), refused):
        assert await served.client.lease_tenant_key(SUBJECT, "voyage") == scripted.answer
        assert await served.worker.lease_tenant_key(REFERENCE, "openai") == scripted.answer
    assert scripted.asked == [(SUBJECT, "voyage"), (REFERENCE, "openai")] * 4


async def test_twenty_at_once_count_once(tcp: Served, scripted: Scripted) -> None:
    body = BODIES[EXCHANGE]
    token = bearer(tcp.key, EXCHANGE, body)
    heard = await asyncio.gather(*(post(tcp, EXCHANGE, body, token) for _ in range(20)))
    assert sorted(one.status for one in heard) == [200] + [401] * 19
    assert len(scripted.asked) == 1


async def test_every_refusal_is_the_same(tcp: Served, scripted: Scripted) -> None:
    body, other = BODIES[EXCHANGE], encode_lease_request(SUBJECT, LeaseRequest(SUBJECT, "github", "create_issue"))
    stranger = ServiceTokenSigner(Ed25519PrivateKey.generate())
    past = ServiceTokenSigner(tcp.key._key, clock=lambda: time.time() - 60)  # pyright: ignore[reportPrivateUsage]
    used = bearer(tcp.key, EXCHANGE, body)
    assert (await post(tcp, EXCHANGE, body, used)).status == 200
    huge = b" " * MOST_REQUEST + body
    heard = {
        await post(tcp, EXCHANGE, body, None),
        await post(tcp, EXCHANGE, body, ""),
        await post(tcp, EXCHANGE, body, "Bearer"),
        await post(tcp, EXCHANGE, body, "Bearer nonsense"),
        await post(tcp, EXCHANGE, body, "Basic " + tcp.key.sign("POST", EXCHANGE, body)),
        await post(tcp, EXCHANGE, body, bearer(stranger, EXCHANGE, body)),
        await post(tcp, EXCHANGE, body, bearer(past, EXCHANGE, body)),
        await post(tcp, EXCHANGE, other, bearer(tcp.key, EXCHANGE, body)),
        await post(tcp, STATUS, body, bearer(tcp.key, EXCHANGE, body)),
        await post(tcp, EXCHANGE, body, bearer(tcp.key, EXCHANGE, body), method="PUT"),
        await post(tcp, EXCHANGE, body, used),
        await post(tcp, EXCHANGE, huge, bearer(tcp.key, EXCHANGE, huge)),
        await post(tcp, "/v1/list", b"", None),
    }
    (one,) = heard
    assert (one.status, one.body) == (401, b'{"error":"unauthorized"}')
    assert len(scripted.asked) == 1


async def test_there_is_nothing_else(tcp: Served) -> None:
    for method, path in (("GET", VERIFY), ("POST", "/v1/list"), ("POST", "/v1/credentials"), ("GET", "/openapi.json")):
        heard = await post(tcp, path, b"", bearer(tcp.key, path, b"", method), method=method)
        assert (heard.status, heard.body) == (404, b'{"error":"not_found"}')


@pytest.mark.guarantee("G10")
@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"subject_token":1}', b'{"subject_token":null}', b'{"subject_token":"x","user_id":"y"}',
     b'{"subject_token":"\xff"}', b"[" * 60_000, b'{"subject_token":"x","module":"m","tool":"t","tenant_id":"y"}'],
)  # fmt: skip
async def test_what_is_no_question(tcp: Served, scripted: Scripted, body: bytes) -> None:
    """A user or tenant that a gateway names is no part of a question."""
    for path in PATHS + WORKER_PATHS:
        key = tcp.worker_key if path in WORKER_PATHS else tcp.key
        heard = await post(tcp, path, body, bearer(key, path, body))
        assert (heard.status, heard.body) == (400, b'{"error":"malformed"}'), path
    assert scripted.asked == []


@pytest.mark.guarantee("G10")
@pytest.mark.no_canary("presents ids and addresses as if they were tokens")
async def test_a_gateway_alone_gets_nothing(app: BrokerHarness, tmp_path: Path) -> None:
    """G10: all that a taken-over gateway has is its key, ids that it has seen, and what was revoked."""
    ada = await an_ada(app)
    lease = await leased(app.local, ada)
    async with served_over_http(app.local, tmp_path) as served:
        guesses = ["", ada.token_id, str(ada.id), ada.email, str(ada.tenant_id), str(lease.credential_id),
                   "mcpist_" + ada.token_id + "A" * 49, ada.token.reveal()[:-1], served.key.gateway]  # fmt: skip
        for guess in guesses:
            heard = [
                await post(served, path, body, bearer(served.key, path, body))
                for path, body in (
                    (VERIFY, encode_subject_request(Secret(guess))),
                    (STATUS, encode_subject_request(Secret(guess))),
                    (EXCHANGE, encode_lease_request(Secret(guess), ASKS)),
                    (TENANT_KEY, encode_tenant_key_request(Secret(guess), "voyage")),
                    (CREATE_MANDATE, encode_mandate_request(replace(WANTED, subject=Secret(guess)))),
                )
            ]
            assert {(one.status, one.body) for one in heard} == {(200, b'{"refused":{"reason":"unknown",'
                    b'"tenant_id":null,"user_id":null,"credential_id":null,"audit_pass":""}}')}, guess  # fmt: skip


@pytest.mark.guarantee("G6")
def test_no_answer_has_room_for_more_than_an_access_token() -> None:
    """Row 46: no refresh token, no key, no client secret; nothing under a name that is not listed here."""
    fields = msgspec.json.schema(BrokerResponse)["$defs"]["LeasePayload"]["properties"]
    assert set(fields) == {
        "access_token", "version", "expires_in", "kind", "credential_id", "settings", "renewable",
        "origins", "attributes", "scheme", "grant",
    }  # fmt: skip
    names = {field.name for field in msgspec.structs.fields(BrokerResponse)}
    assert names == {"credential", "connections", "lease", "no_credential", "mandate", "refused"}
    assert {field.name for field in msgspec.structs.fields(TenantKeyPayload)} == {"key", "expires_in", "origins"}
    assert {field.name for field in msgspec.structs.fields(TenantKeyResponse)} == {"lease", "no_key", "refused"}
    assert {field.name for field in fields_of(Mandate)} == {
        "id", "tenant_id", "user_id", "purpose", "purpose_id", "expires_at", "needs_consent",
    }  # fmt: skip


async def test_too_much_from_one_gateway(tcp: Served, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.rpc.app.RATE", 0.1)
    monkeypatch.setattr("broker.rpc.app.BURST", 3)
    assert BURST > 3
    app = BrokerApp(scripted, tcp_tokens(tcp), clock=lambda: 0.0)
    statuses = [await ask_app(app, tcp.key) for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


def tcp_tokens(tcp: Served) -> Any:
    from broker.rpc.gateway_keys import compute_gateway_id
    from broker.rpc.service_token import ServiceTokenVerifier

    public = tcp.key._key.public_key()  # pyright: ignore[reportPrivateUsage]

    class One:
        def find(self, gateway: str) -> Any:
            return public if gateway == compute_gateway_id(public) else None

    return ServiceTokenVerifier(One())  # type: ignore[arg-type]


async def ask_app(app: BrokerApp, key: ServiceTokenSigner) -> int:
    body = BODIES[EXCHANGE]
    headers = [(b"authorization", bearer(key, EXCHANGE, body).encode())]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": EXCHANGE, "headers": headers}, receive, send)
    return sent[0]["status"]


async def test_faults_say_nothing(tcp: Served, scripted: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = BODIES[EXCHANGE]
    scripted.answer = RuntimeError(f"of {SUBJECT.reveal()}")
    heard = await post(tcp, EXCHANGE, body, bearer(tcp.key, EXCHANGE, body))
    assert (heard.status, heard.body) == (500, b'{"error":"internal"}')
    scripted.answer = Unavailable("the vault's key k1 is missing", 7)
    heard = await post(tcp, EXCHANGE, body, bearer(tcp.key, EXCHANGE, body))
    assert (heard.status, heard.body) == (503, b'{"error":"unavailable"}')
    with pytest.raises(Unavailable, match="its broker is unavailable") as away:
        await tcp.client.lease(ASKS)
    assert away.value.retry_after == 7
    scripted.answer = LEASE
    await tcp.client.lease(ASKS)
    await post(tcp, EXCHANGE, body, "Bearer wrong")
    assert caplog.records
    said = " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert SUBJECT.reveal() not in said
    assert VENDOR_TOKEN not in said
    assert "eyJ" not in said, "a service token"


async def test_an_unknown_key_is_unavailable_and_told(tcp: Served, caplog: pytest.LogCaptureFixture) -> None:
    async with open_http_broker(tcp.url, ServiceTokenSigner(Ed25519PrivateKey.generate())) as stranger:
        for _ in range(3):
            with pytest.raises(Unavailable):
                await stranger.lease(ASKS)
        assert stranger.problem is not None
        assert stranger.problem.is_refusal
    told = [record for record in caplog.records if record.name == "broker.rpc.rpc_client"]
    assert len(told) == 1
    assert "public key" in told[0].__dict__["cause"]


Reply = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@contextlib.asynccontextmanager
async def impostor(reply: Reply) -> AsyncIterator[HttpBroker]:
    """A client of somebody who is no broker."""

    serving: set[Any] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reply(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        open_http_broker(f"http://127.0.0.1:{port}", ServiceTokenSigner(Ed25519PrivateKey.generate())) as client,
    ):
        yield client
    await asyncio.gather(*serving)


def says(head: str, body: bytes = b"") -> Reply:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).decode()
        (token,) = re.findall(r"(?im)^authorization: Bearer (\S+)", asked)
        marked = f"{head}\n{ANSWER_HEADER}: {compute_answer_mark(token)}" if "\n" in head else head
        writer.write(marked.encode().replace(b"\n", b"\r\n") + b"\r\n\r\n" + body)
        await writer.drain()

    return reply


HOSTILE = {
    "hangs up": says(""),
    "no http": says("nonsense"),
    "redirect": says("HTTP/1.1 307 x\nLocation: http://127.0.0.1:1/\nContent-Length: 0"),
    "no json": says("HTTP/1.1 200 OK\nContent-Length: 3", b"abc"),
    "another answer": says("HTTP/1.1 200 OK\nContent-Length: 18", b'{"connections":{}}'),
    "nothing": says("HTTP/1.1 200 OK\nContent-Length: 2", b"{}"),
    "two": says("HTTP/1.1 200 OK\nContent-Length: 59", b'{"connections":{},"no_credential":{"module":"m","reason":1}}'),
    "cut off": says("HTTP/1.1 200 OK\nContent-Length: 100", b"{"),
    "endless": says("HTTP/1.1 200 OK\nConnection: close", b" " * 3_000_000),
    "bomb": says("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: 3", b"abc"),
    "503": says("HTTP/1.1 503 x\nRetry-After: 99999999\nContent-Length: 0"),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_whatever_else_listens_there(what: str) -> None:
    async with impostor(HOSTILE[what]) as client:
        with pytest.raises(Unavailable) as away:
            await client.lease(ASKS)
        assert not isinstance(away.value, BrokerUnreachable), "the request may have arrived"
        assert away.value.retry_after <= 60
        assert away.value.__cause__ is None
        assert client.problem is not None
        assert not client.problem.is_refusal


OLD_LEASE = (
    b'{"lease":{"access_token":"ghp_of-an-old-broker","version":1,"expires_in":60.0,"kind":"personal",'
    b'"credential_id":"00000000-0000-0000-0000-000000000001","settings":{},"renewable":true,"origins":[],'
    b'"attributes":{}}}'
)


@pytest.mark.parametrize(
    ("status", "body"), [(200, OLD_LEASE), (404, b'{"error":"not_found"}')], ids=["another lease", "another path"]
)
async def test_a_broker_of_another_version_is_named_in_the_log(
    status: int, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A lease that does not say how its token is sent is none: nobody guesses."""
    reply = says(f"HTTP/1.1 {status} X\nContent-Length: {len(body)}", body)
    async with impostor(reply) as client:
        with pytest.raises(Unavailable):
            await client.lease(ASKS)
    (record,) = [record for record in caplog.records if record.name == "broker.rpc.rpc_client"]
    assert "the same version of MCPist" in record.__dict__["cause"]
    assert "ghp_" not in str(record.__dict__)


@pytest.mark.parametrize(("status", "is_refusal"), [(401, True), (404, True), (400, False), (429, False), (503, False)])
async def test_a_refusal_is_told_from_what_goes_away_by_itself(status: int, is_refusal: bool) -> None:
    async with impostor(says(f"HTTP/1.1 {status} X\nContent-Length: 0")) as client:
        problem = await client.find_problem()
        assert problem is not None
        assert (problem.cause.startswith(str(status)), problem.is_refusal) == (True, is_refusal)
        assert client.problem == problem


async def test_a_gateway_of_another_version_gets_nothing_and_is_named_in_the_log(
    tcp: Served, scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    body = BODIES[EXCHANGE]
    heard = await post(tcp, "/v1/token-exchange", body, bearer(tcp.key, "/v1/token-exchange", body))
    assert (heard.status, scripted.asked) == (404, [])
    (record,) = [record for record in caplog.records if record.name == "broker.rpc.app"]
    assert "the same version of MCPist" in record.__dict__["cause"]


async def test_nobody_listens(tmp_path: Path) -> None:
    for url in (f"http://127.0.0.1:{free_port()}", f"unix:{tmp_path / 'none.sock'}"):
        async with open_http_broker(url, ServiceTokenSigner(Ed25519PrivateKey.generate())) as client:
            with pytest.raises(BrokerUnreachable, match="broker is unavailable"):
                await client.verify(SUBJECT)


async def test_one_who_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    monkeypatch.setattr("broker.rpc.rpc_client.TOTAL_SECONDS", 0.2)
    async with impostor(silent) as client:
        with pytest.raises(Unavailable):
            await client.verify(SUBJECT)


async def test_a_kept_connection_that_died_is_made_anew(scripted: Scripted) -> None:
    """A broker that was started anew: the first connection answers once and then hangs up on the next request."""
    answer = b'{"refused":{"reason":"unknown"}}'
    connections = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        request = await reader.readuntil(b"}")
        mark = compute_answer_mark(request.partition(b"Bearer ")[2].partition(b"\r\n")[0].decode()).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nMCPist-Answers: %b\r\nContent-Length: %d\r\n\r\n" % (mark, len(answer)) + answer
        )
        await writer.drain()
        await reader.readuntil(b"}")

    async with impostor(once) as client:
        for _ in range(4):
            assert await client.verify(SUBJECT) == CredentialRefusal(RefusalReason.UNKNOWN)
        assert connections == 4
        assert client.problem is None


async def test_a_slow_body_is_cut(tcp: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.rpc.app.BODY_SECONDS", 0.1)
    body = BODIES[EXCHANGE]

    async def slow() -> AsyncIterator[bytes]:
        yield body[:5]
        await asyncio.Event().wait()

    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": bearer(tcp.key, EXCHANGE, body)}
        async with session.post(tcp.url + EXCHANGE, data=slow(), headers=headers) as response:
            assert response.status == 401


def test_the_client_cannot_ask_for_others() -> None:
    """What a gateway can say is a subject, a module, a tool, a version: nobody's id."""
    assert set(msgspec.json.decode(BODIES[EXCHANGE])) == {
        "subject_token",
        "module",
        "tool",
        "rejected_version",
    }
    assert set(msgspec.json.decode(encode_subject_request(SUBJECT))) == {"subject_token"}
