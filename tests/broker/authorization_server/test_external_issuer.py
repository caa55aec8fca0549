"""Tokens of another authorization server: whose they are, and that nobody comes in who should not."""

import json
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from joserfc.jwk import ECKey, RSAKey

from broker.authorization_server import jose
from broker.authorization_server.external_issuer import ExternalIssuerVerifier
from broker.identity.settings import ExternalSettings
from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Credential
from core.directory.tenants import set_status as set_tenant_status
from core.errors import Unavailable
from core.http.json_documents import DocumentUnavailable, JsonDocument, JsonDocumentFetcher
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness, Person
from tests.support.directory import set_status

ISSUER = "https://as.example.com"
JWKS = "https://as.example.com/jwks"
RESOURCE = "https://mcp.example.com/mcp"
UNKNOWN = CredentialRefusal(RefusalReason.UNKNOWN)


@dataclass
class Server:
    """The other server: a key of each kind, and its JWK set."""

    rsa: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2_048, {"kid": "rsa"}))
    ec: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "ec"}))
    away: bool = False
    asked: int = 0

    async def fetch_document(self, url: str, most_bytes: int) -> JsonDocument:
        assert url == JWKS
        assert most_bytes > 0
        self.asked += 1
        if self.away:
            raise DocumentUnavailable("unreachable")
        keys = [key.as_dict(private=False) for key in (self.rsa, self.ec)]
        return JsonDocument(json.dumps({"keys": keys}).encode(), None)


@dataclass
class ExternalIssuerApp:
    """A person of a tenant, and what the other server says of them."""

    app: BrokerHarness
    server: Server
    ada: Person

    def issuer(self, **settings: Any) -> ExternalIssuerVerifier:
        chosen = ExternalSettings(issuer=ISSUER, jwks_uri=JWKS, **settings)
        documents = cast("JsonDocumentFetcher", self.server)
        return ExternalIssuerVerifier(chosen, self.app.trusted, documents, resource=RESOURCE, clock=self.app.clock)

    def token(self, header: dict[str, Any] | None = None, **changes: Any) -> Secret:
        now = self.app.clock().timestamp()
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "aud": RESOURCE,
            "sub": "ada-there",
            "tid": "acme",
            "email": "Ada@Example.test",
            "email_verified": True,
            "client_id": "their-client",
            "scope": "openid mcp:read",
            "iat": now,
            "exp": now + 600,
            **changes,
        }
        said = {"typ": "at+jwt", "kid": "rsa", **(header or {})}
        given = {name: value for name, value in claims.items() if value is not None}
        return Secret(jose.sign_jwt(self.server.rsa, said, given, "RS256"))

    async def verdict(self, **changes: Any) -> Credential | CredentialRefusal:
        return await self.issuer().verify(self.token(**changes))

    async def linked(self, person: Person, subject: str) -> None:
        await self.app.execute(
            "INSERT INTO auth.identities (tenant_id, issuer, subject, user_id, email, created_at, last_sign_in_at) "
            "VALUES ($1, $2, $3, $4, '', now(), now())",
            person.tenant_id, ISSUER, subject, person.id,
        )  # fmt: skip


@pytest.fixture
async def app(app: BrokerHarness) -> ExternalIssuerApp:
    return ExternalIssuerApp(app, Server(), await app.person(await app.tenant("acme"), "ada@example.test"))


async def test_whom_it_speaks_for(app: ExternalIssuerApp) -> None:
    verdict = await app.verdict()
    assert isinstance(verdict, Credential)
    assert (verdict.kind, verdict.client) == ("oauth", "their-client")
    assert (verdict.tenant_id, verdict.user_id) == (app.ada.tenant_id, app.ada.id)
    assert verdict.scopes == {"mcp:read"}
    assert verdict.generation == await app.app.generation(app.ada.tenant_id)
    assert verdict.expires_at is not None
    assert timedelta(minutes=9) < verdict.expires_at - app.app.clock() <= timedelta(minutes=10)
    again = await app.verdict(jti="another")
    assert isinstance(again, Credential)
    assert again.id == verdict.id
    assert len(verdict.id) < 100


async def test_keys_of_other_kinds(app: ExternalIssuerApp) -> None:
    now = app.app.clock().timestamp()
    claims = {"iss": ISSUER, "aud": RESOURCE, "sub": "x", "tid": "acme", "exp": now + 60}
    claims |= {"email": "ada@example.test", "email_verified": True}
    token = jose.sign_jwt(app.server.ec, {"typ": "at+jwt", "kid": "ec"}, claims, "ES256")
    assert isinstance(await app.issuer().verify(Secret(token)), Credential)


@pytest.mark.parametrize("audience", [RESOURCE, [RESOURCE], [RESOURCE, "https://as.example.com/userinfo"]])
async def test_for_us(app: ExternalIssuerApp, audience: Any) -> None:
    assert isinstance(await app.verdict(aud=audience), Credential)


async def test_an_audience_of_its_own(app: ExternalIssuerApp) -> None:
    issuer = app.issuer(audience="api://mcpist")
    assert isinstance(await issuer.verify(app.token(aud="api://mcpist")), Credential)
    assert await issuer.verify(app.token()) == UNKNOWN


WRONG: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example.com"},
    "issuer with a slash": {"iss": ISSUER + "/"},
    "another resource": {"aud": "https://other.example.com/mcp"},
    "other resources": {"aud": ["https://other.example.com/mcp", RESOURCE + "/"]},
    "no audience": {"aud": None},
    "audience as an object": {"aud": {RESOURCE: 1}},
    "an upper-case host": {"aud": "https://MCP.example.com/mcp"},
    "no expiry": {"exp": None},
    "not yet": {"nbf": 9_999_999_999},
    "from the future": {"iat": 9_999_999_999},
    "no subject": {"sub": None},
    "no tenant": {"tid": None},
    "an unknown tenant": {"tid": "globex"},
    "an empty tenant": {"tid": ""},
    "a tenant as a list": {"tid": ["acme"]},
    "typ JWT": {"header": {"typ": "JWT"}},
    "an unknown kid": {"header": {"kid": "x"}},
    "a foreign JWK set": {"header": {"jku": "https://evil.example.com/jwks"}},
}


@pytest.mark.guarantee("G13")
async def test_what_does_not_count(app: ExternalIssuerApp) -> None:
    verdicts = {name: await app.verdict(**changes) for name, changes in WRONG.items()}
    assert verdicts == dict.fromkeys(WRONG, UNKNOWN)


async def test_what_a_key_did_not_sign(app: ExternalIssuerApp) -> None:
    token = app.token()
    app.server.rsa = RSAKey.generate_key(2_048, {"kid": "rsa"})
    assert await app.issuer().verify(token) == CredentialRefusal(RefusalReason.WRONG_SECRET)


async def test_it_ends(app: ExternalIssuerApp) -> None:
    token = app.token()
    app.app.clock.ahead = timedelta(minutes=10)
    assert await app.issuer().verify(token) == CredentialRefusal(RefusalReason.EXPIRED)


async def test_a_server_that_writes_jwt(app: ExternalIssuerApp) -> None:
    issuer = app.issuer(token_types=("JWT",))
    assert isinstance(await issuer.verify(app.token({"typ": "JWT"})), Credential)
    assert await issuer.verify(app.token({"typ": "logout+jwt"})) == UNKNOWN


# Whose it is -----------------------------------------------------------------------------------------------------


def nobody_in(app: ExternalIssuerApp) -> CredentialRefusal:
    return CredentialRefusal(RefusalReason.UNKNOWN, app.ada.tenant_id)


async def test_nobody_is_created(app: ExternalIssuerApp) -> None:
    assert await app.verdict(email="new@example.test") == nobody_in(app)
    async with app.app.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM core.users") == 1


@pytest.mark.parametrize("verified", [None, False, "true", 1])
async def test_an_address_that_nobody_vouches_for_finds_nobody(app: ExternalIssuerApp, verified: Any) -> None:
    assert await app.verdict(email_verified=verified) == nobody_in(app)
    trusting = app.issuer(emails_are_verified=True)
    assert isinstance(await trusting.verify(app.token(email_verified=verified)), Credential)


@pytest.mark.parametrize("email", [None, "", 7, ["ada@example.test"], "ada", "a" * 400 + "@example.test"])
async def test_what_is_no_address_finds_nobody(app: ExternalIssuerApp, email: Any) -> None:
    assert await app.verdict(email=email) == nobody_in(app)


async def test_a_linked_account_comes_before_an_address(app: ExternalIssuerApp) -> None:
    bob = await app.app.person(app.ada.tenant_id, "bob@example.test")
    await app.linked(bob, "ada-there")
    verdict = await app.verdict()
    assert isinstance(verdict, Credential)
    assert verdict.user_id == bob.id


async def test_by_linked_accounts_only(app: ExternalIssuerApp) -> None:
    issuer = app.issuer(claims={"user": "sub"})
    assert await issuer.verify(app.token()) == nobody_in(app)
    await app.linked(app.ada, "ada-there")
    assert isinstance(await issuer.verify(app.token(email=None)), Credential)
    assert await issuer.verify(app.token(sub="another")) == nobody_in(app)


async def test_of_another_tenant_s_people_nothing_is_found(app: ExternalIssuerApp) -> None:
    """The same address, the same account: the token's tenant decides."""
    eve = await app.app.person(await app.app.tenant("evil"), "ada@example.test")
    await app.linked(eve, "ada-there")
    verdict = await app.verdict()
    assert isinstance(verdict, Credential)
    assert verdict.user_id == app.ada.id
    other = await app.verdict(tid="evil", email=None)
    assert isinstance(other, Credential)
    assert (other.tenant_id, other.user_id) == (eve.tenant_id, eve.id)


async def test_who_is_suspended(app: ExternalIssuerApp) -> None:
    await set_status(app.app.console, ACTOR, app.ada.tenant_id, app.ada.email, "suspended")
    assert await reason(app) is RefusalReason.USER_SUSPENDED
    await set_tenant_status(app.app.console, ACTOR, app.ada.tenant_id, "suspended")
    assert await reason(app) is RefusalReason.TENANT_SUSPENDED


async def reason(app: ExternalIssuerApp) -> RefusalReason:
    verdict = await app.verdict()
    assert isinstance(verdict, CredentialRefusal)
    assert (verdict.tenant_id, verdict.user_id) == (app.ada.tenant_id, app.ada.id)
    return verdict.reason


# What the claims are called --------------------------------------------------------------------------------------


async def tenant_of(issuer: ExternalIssuerVerifier, token: Secret) -> UUID | None:
    verdict = await issuer.verify(token)
    return verdict.tenant_id if isinstance(verdict, Credential) else None


async def test_one_tenant_for_all(app: ExternalIssuerApp) -> None:
    assert await tenant_of(app.issuer(tenant="acme"), app.token(tid=None)) == app.ada.tenant_id
    assert await tenant_of(app.issuer(tenant="acme"), app.token(tid="evil")) == app.ada.tenant_id


async def test_tenants_by_their_names_there(app: ExternalIssuerApp) -> None:
    issuer = app.issuer(tenants={"9f3e": "acme"}, claims={"tenant": "org"})
    assert await tenant_of(issuer, app.token(org="9f3e")) == app.ada.tenant_id
    assert await tenant_of(issuer, app.token(org="acme")) is None, "with a table, only what stands there"
    assert await tenant_of(issuer, app.token()) is None


@pytest.mark.parametrize(
    ("said", "scopes"),
    [
        ("mcp:read mcp:write openid", {"mcp:read", "mcp:write"}),
        (["mcp:write", 7, "x"], {"mcp:write"}),
        ("admin:write mcp:read", {"mcp:read"}),
        (None, set()),
        ({"mcp:read": True}, set()),
        ("mcp:read,mcp:write", set()),
    ],
)
async def test_scopes(app: ExternalIssuerApp, said: Any, scopes: set[str]) -> None:
    verdict = await app.issuer(claims={"scopes": "scp"}).verify(app.token(scp=said))
    assert isinstance(verdict, Credential)
    assert verdict.scopes == scopes


# What is asked of the other server -------------------------------------------------------------------------------


async def test_keys_are_asked_for_once(app: ExternalIssuerApp) -> None:
    issuer = app.issuer()
    for _ in range(5):
        await issuer.verify(app.token())
    assert app.server.asked == 1
    app.server.away = True
    for number in range(1_000):
        assert await issuer.verify(app.token({"kid": f"unknown-{number}"})) == UNKNOWN
    assert isinstance(await issuer.verify(app.token()), Credential), "known keys go on counting"
    assert app.server.asked <= 2


async def test_others_tokens_cause_no_question(app: ExternalIssuerApp) -> None:
    issuer = app.issuer()
    await issuer.verify(app.token(iss="https://evil.example.com"))
    assert app.server.asked == 0


async def test_a_server_that_never_answered_is_an_outage(app: ExternalIssuerApp) -> None:
    app.server.away = True
    with pytest.raises(Unavailable):
        await app.verdict()


async def test_the_operator_reads_once_what_does_not_fit(
    app: ExternalIssuerApp, caplog: pytest.LogCaptureFixture
) -> None:
    issuer = app.issuer()
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            await issuer.verify(app.token(aud="api://mcpist"))
            await issuer.verify(app.token(tid="globex"))
            await issuer.verify(app.token(exp=1))
    causes = [record.__dict__["cause"] for record in caplog.records]
    assert causes == ["aud", "tenant"]


@pytest.mark.parametrize(
    ("client_id", "tool_result_format"),
    [("https://chatgpt.com/oauth/codex/client.json", "short"), ("their-client", ""), (None, "")],
)
async def test_a_client_that_was_seen_is_known_here_too(
    app: ExternalIssuerApp, client_id: str | None, tool_result_format: str
) -> None:
    """The URL of its metadata document is its id at every server."""
    verdict = await app.issuer().verify(app.token(client_id=client_id))
    assert isinstance(verdict, Credential)
    assert verdict.tool_result_format == tool_result_format
