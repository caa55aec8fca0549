"""Enterprise-managed authorization: the word of an identity provider that a tenant trusts, and every forgery of it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from joserfc.jwk import OctKey

from broker.authorization_server.client_registry import CLIENT_CREDENTIALS, JWT_BEARER, Client
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grant_records import ClientGrant
from broker.authorization_server.grants import Grants
from broker.authorization_server.id_jag import ID_JAG_TYPE, IdentityAssertionVerifier, VerifiedAssertion
from broker.authorization_server.registered_clients import NewClient
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.identity.admission import Admission
from broker.identity.browser_sessions import Sessions
from broker.identity.identities import Identities
from core.errors import Invalid, LimitReached, NotFound, Unavailable
from core.scopes import MCP_SCOPES
from tests.broker.authorization_server.client_registry_app import (
    ACTOR,
    ISSUER,
    RESOURCE,
    ClientRegistryApp,
    app_on,
    ec_key,
    fresh_id,
    public_set,
    rsa_key,
    signed,
)
from tests.gateway.vendor_session.doubles import Exchange, RawVendor
from tests.support.postgres import MadeTenant, ScratchDatabase

IDP = "https://idp.example.com"
APP = NewClient(name="App", auth_method="client_secret_basic", grant_types=frozenset({JWT_BEARER}))


@dataclass(slots=True)
class Company:
    """A tenant that trusts an identity provider, whose keys a server on loopback publishes."""

    app: ClientRegistryApp
    keys: RawVendor
    tenant: MadeTenant
    trusted: TrustedIssuers
    assertions: IdentityAssertionVerifier
    client: Client

    @property
    def jwks_uri(self) -> str:
        return f"{self.keys.url}/keys"

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(self.app.clock.seconds())
        whole = {
            "iss": IDP,
            "sub": "ada",
            "aud": ISSUER,
            "client_id": self.client.id,
            "resource": RESOURCE,
            "jti": fresh_id(),
            "iat": now,
            "exp": now + 300,
            "scope": "mcp:read",
            "email": "ada@acme.example",
            "email_verified": True,
        }
        return {name: value for name, value in {**whole, **changed}.items() if value is not ...}

    def assertion(self, **changed: Any) -> str:
        return signed(rsa_key(), self.claims(**changed), typ=ID_JAG_TYPE)

    async def verify(self, assertion: str = "", client: Client | None = None) -> VerifiedAssertion:
        return await self.assertions.verify(assertion or self.assertion(), client or self.client)

    async def refused(self, assertion: str, code: str = "invalid_grant", client: Client | None = None) -> str:
        with pytest.raises(OAuthError) as error:
            await self.verify(assertion, client)
        assert error.value.code == code
        return error.value.description

    async def user(self, email: str) -> UUID:
        return await self.app.value("SELECT id FROM core.users WHERE email = $1", email)


async def publish(exchange: Exchange) -> None:
    exchange.send(200, json.dumps(public_set(rsa_key(), ec_key())).encode(), content_type="application/json")


@contextlib.asynccontextmanager
async def company_on(database: ScratchDatabase, tenant: MadeTenant) -> AsyncIterator[Company]:
    async with RawVendor([publish]) as keys, app_on(database, f"127.0.0.1:{keys.port}") as app:
        admission = Admission(
            app.database,
            Identities(app.database, clock=app.clock),
            Sessions(app.database, clock=app.clock),
            clock=app.clock,
        )
        trusted = TrustedIssuers(app.database, app.documents, clock=app.clock)
        assertions = IdentityAssertionVerifier(
            trusted, app.published_keys, admission, app.single_use, issuer=ISSUER, resource=RESOURCE, clock=app.clock
        )
        client, _ = await app.registered.create(ACTOR, tenant.id, APP)
        company = Company(app, keys, tenant, trusted, assertions, client)
        await trusted.trust(ACTOR, tenant.id, IDP, company.jwks_uri)
        await app.execute("INSERT INTO core.allow_list (tenant_id, entry) VALUES ($1, '@acme.example')", tenant.id)
        yield company


@pytest.fixture
async def company(database: ScratchDatabase, make_tenant: Any) -> AsyncIterator[Company]:
    async with company_on(database, await make_tenant()) as made:
        yield made


async def test_somebody_new_is_let_in_by_the_allow_list_and_known_from_then_on(company: Company) -> None:
    first = await company.verify()
    assert first == VerifiedAssertion(
        company.tenant.id, await company.user("ada@acme.example"), frozenset({"mcp:read"}), RESOURCE, IDP
    )
    again = await company.verify(company.assertion(email="lovelace@acme.example"))
    assert again.user_id == first.user_id
    assert (await company.verify(company.assertion(email=..., email_verified=...))).user_id == first.user_id
    assert len(company.keys.requests) == 1
    assert await company.app.value("SELECT count(*) FROM auth.sessions") == 0


async def test_a_user_who_is_there_is_found_by_a_verified_address(company: Company) -> None:
    await company.app.execute("UPDATE core.users SET email = 'ada@acme.example'")
    assert (await company.verify(company.assertion(email="ADA@Acme.example"))).user_id == company.tenant.users[0]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (..., MCP_SCOPES),
        ("mcp:read", {"mcp:read"}),
        ("openid mcp:write chat.read", {"mcp:write"}),
        ("admin:write mcp:read admin:read", {"mcp:read"}),
    ],
)
async def test_scopes(company: Company, scope: Any, expected: set[str]) -> None:
    assert (await company.verify(company.assertion(scope=scope))).scopes == expected


async def test_no_scope_of_ours_is_no_grant(company: Company) -> None:
    for scope in ("", "openid", "admin:write", "MCP:READ"):
        await company.refused(company.assertion(scope=scope), "invalid_scope")
    await company.refused(company.assertion(scope=["mcp:read"]))


async def test_other_ways_to_write_the_same(company: Company) -> None:
    await company.verify(company.assertion(aud=[ISSUER], resource=[RESOURCE]))
    await company.verify(signed(ec_key(), company.claims(), typ="application/OAuth-ID-JAG+jwt"))


async def test_forged_assertions(company: Company) -> None:
    now = int(company.app.clock.seconds())
    other, _ = await company.app.registered.create(ACTOR, company.tenant.id, APP)
    good = company.assertion()
    head, body, signature = good.split(".")
    pem = OctKey.import_key(rsa_key().as_pem(private=False).hex())
    forged = {
        "another's key": signed(rsa_key("x"), company.claims(), typ=ID_JAG_TYPE),
        "another's key under the right kid": signed(rsa_key("x"), company.claims(), typ=ID_JAG_TYPE, kid="r1"),
        "no kid": signed(rsa_key(), company.claims(), typ=ID_JAG_TYPE, kid=""),
        "hmac": signed(pem, company.claims(), "HS256", typ=ID_JAG_TYPE, kid="r1"),
        "another algorithm": signed(rsa_key(), company.claims(), "PS256", typ=ID_JAG_TYPE),
        "no signature": f"{head}.{body}.",
        "another body": f"{head}.{company.assertion().split('.')[1]}.{signature}",
        "no typ": signed(rsa_key(), company.claims()),
        "an ID token": signed(rsa_key(), company.claims(), typ="JWT"),
        "an access token": signed(rsa_key(), company.claims(), typ="at+jwt"),
        "typ in typ": signed(rsa_key(), company.claims(), typ=f"application/application/{ID_JAG_TYPE}"),
        "an unknown issuer": company.assertion(iss="https://evil.example"),
        "the issuer with a slash": company.assertion(iss=IDP + "/"),
        "the issuer in another case": company.assertion(iss=IDP.upper()),
        "an issuer that no database takes": company.assertion(iss=IDP + "\0"),
        "no issuer": company.assertion(iss=...),
        "for another server": company.assertion(aud="https://other.example"),
        "for its resource": company.assertion(aud=RESOURCE),
        "with a slash": company.assertion(aud=ISSUER + "/"),
        "for several": company.assertion(aud=[ISSUER, "https://other.example"]),
        "for nobody": company.assertion(aud=...),
        "another client's": company.assertion(client_id=other.id),
        "several clients'": company.assertion(client_id=[company.client.id]),
        "no client's": company.assertion(client_id=...),
        "another resource": company.assertion(resource="https://other.example/mcp"),
        "no resource": company.assertion(resource=...),
        "expired": company.assertion(exp=now),
        "for too long": company.assertion(exp=now + 3631),
        "for ever": company.assertion(exp=...),
        "of the future": company.assertion(iat=now + 31),
        "of no time": company.assertion(iat=...),
        "not yet": company.assertion(nbf=now + 31),
        "no jti": company.assertion(jti=...),
        "no sub": company.assertion(sub=...),
        "an empty sub": company.assertion(sub=""),
        "a number for sub": company.assertion(sub=7),
        "a sub that no database takes": company.assertion(sub="a\0"),
        "a long sub": company.assertion(sub="a" * 256),
        "no address": company.assertion(email="ada"),
        "an address without proof": company.assertion(email_verified=False),
        "an address with a text for proof": company.assertion(email_verified="true"),
        "an address that nobody lets in": company.assertion(email="ada@other.example"),
        "an address of a subdomain": company.assertion(email="ada@x.acme.example"),
        "nobody's address": company.assertion(email=...),
        "nothing": "x",
    }
    for name, assertion in forged.items():
        assert await company.refused(assertion), name
    assert await company.app.value("SELECT count(*) FROM auth.identities") == 0
    assert len(company.keys.requests) <= 2
    await company.verify(good)


async def test_an_assertion_counts_once(company: Company) -> None:
    assertion = company.assertion()
    outcomes = await asyncio.gather(*(company.verify(assertion) for _ in range(20)), return_exceptions=True)
    assert sum(isinstance(one, VerifiedAssertion) for one in outcomes) == 1
    assert sum(isinstance(one, OAuthError) for one in outcomes) == 19


async def test_only_clients_that_were_registered_for_it(company: Company) -> None:
    for client in (
        replace(company.client, tenant_id=None, kind="metadata"),
        replace(company.client, auth_method="none"),
        replace(company.client, grant_types=frozenset({CLIENT_CREDENTIALS})),
    ):
        await company.refused(company.assertion(), "unauthorized_client", client)


async def test_what_one_tenant_trusts_means_nothing_in_another(company: Company, make_tenant: Any) -> None:
    """Both tenants know the issuer by the same name, each with keys of its own."""
    other = await make_tenant()
    theirs, _ = await company.app.registered.create(ACTOR, other.id, APP)
    for_theirs = company.assertion(client_id=theirs.id)
    await company.refused(for_theirs, client=theirs)
    await company.app.execute(
        "INSERT INTO auth.trusted_issuers (tenant_id, issuer, jwks_uri, created_at) VALUES ($1, $2, $3, now())",
        other.id,
        IDP,
        f"{company.keys.url}/other-keys",
    )

    async def published(exchange: Exchange) -> None:
        exchange.send(200, json.dumps(public_set(rsa_key("x"))).encode(), content_type="application/json")

    company.keys.scripts = [published]
    await company.refused(for_theirs, client=theirs)
    await company.app.execute("INSERT INTO core.allow_list (tenant_id, entry) VALUES ($1, '@acme.example')", other.id)
    genuine = signed(rsa_key("x"), company.claims(client_id=theirs.id), typ=ID_JAG_TYPE)
    assert (await company.verify(genuine, theirs)).tenant_id == other.id


async def test_who_is_suspended_stays_out(company: Company) -> None:
    await company.verify()
    await company.app.execute("UPDATE core.users SET status = 'suspended'")
    assert "suspended" in await company.refused(company.assertion())
    await company.app.execute("UPDATE core.users SET status = 'active'")
    await company.app.execute("DELETE FROM core.allow_list")
    await company.refused(company.assertion())


async def test_an_address_that_was_given_to_somebody_else_finds_nobody(company: Company) -> None:
    await company.verify()
    assert "other_account" in await company.refused(company.assertion(sub="the next ada"))


async def test_keys_that_never_came(company: Company) -> None:
    await company.trusted.trust(ACTOR, company.tenant.id, IDP, f"{company.keys.url}/gone")

    async def gone(exchange: Exchange) -> None:
        exchange.send(404, b"{}", content_type="application/json")

    company.keys.scripts = [gone]
    for _ in range(5):
        with pytest.raises(Unavailable):
            await company.verify()
    assert len(company.keys.requests) == 1


async def test_a_thousand_unknown_keys_are_one_fetch_a_minute(company: Company) -> None:
    await company.verify()
    company.app.clock.go(seconds=61)
    for n in range(50):
        await company.refused(signed(rsa_key(), company.claims(), typ=ID_JAG_TYPE, kid=f"k{n}"))
    assert len(company.keys.requests) == 2


async def test_trusting_and_no_more(company: Company, make_tenant: Any) -> None:
    other, trusted, tenant = await make_tenant(), company.trusted, company.tenant.id
    [listed] = await trusted.list(tenant)
    assert (listed.issuer, listed.jwks_uri) == (IDP, company.jwks_uri)
    assert await trusted.list(other.id) == []
    with pytest.raises(NotFound):
        await trusted.remove(ACTOR, other.id, IDP)
    await trusted.remove(ACTOR, tenant, IDP)
    await company.refused(company.assertion())
    for n in range(20):
        await trusted.trust(ACTOR, tenant, f"{IDP}/{n}", company.jwks_uri)
    with pytest.raises(LimitReached):
        await trusted.trust(ACTOR, tenant, IDP, company.jwks_uri)
    await trusted.trust(ACTOR, tenant, f"{IDP}/1", f"{company.keys.url}/new")
    assert await trusted.find_jwks_uri(tenant, f"{IDP}/1") == f"{company.keys.url}/new"


async def test_what_ends_with_an_issuer_is_what_came_by_it(company: Company, make_tenant: Any) -> None:
    other, second = await make_tenant(), f"{IDP}/second"
    for tenant_id, issuer in ((company.tenant.id, second), (other.id, IDP)):
        await company.trusted.trust(ACTOR, tenant_id, issuer, company.jwks_uri)
    grants = Grants(company.app.database, clock=company.app.clock)
    user = company.tenant.users[0]
    ours = {
        issuer: await grants.get_or_create_grant(grant_of(company.tenant.id, user, "id_jag", issuer))
        for issuer in (IDP, second)
    }
    machine = await grants.get_or_create_grant(grant_of(company.tenant.id, user, "client_credentials", ""))
    theirs = await grants.get_or_create_grant(grant_of(other.id, other.users[0], "id_jag", IDP))
    assert len({ours[IDP].id, ours[second].id, machine.id, theirs.id}) == 4, "none stands for another"
    assert (await grants.get_or_create_grant(grant_of(company.tenant.id, user, "id_jag", IDP))).id == ours[IDP].id
    await company.trusted.remove(ACTOR, company.tenant.id, IDP)
    sql = "SELECT string_agg(cause, ',') FROM auth.grants WHERE id = $1"
    found = [await company.app.value(sql, one.id) for one in (ours[IDP], ours[second], machine, theirs)]
    assert found == ["issuer_removed", "", "", ""]
    with pytest.raises(OAuthError) as error:  # verified just before, and granted just after
        await grants.get_or_create_grant(grant_of(company.tenant.id, user, "id_jag", IDP))
    assert error.value.code == "invalid_grant"
    assert await company.app.value("SELECT count(*) FROM auth.grants WHERE revoked_at IS NULL") == 3


def grant_of(tenant_id: UUID, user_id: UUID, kind: str, issuer: str) -> ClientGrant:
    return ClientGrant(tenant_id, user_id, uuid4(), kind, "client", "Client", MCP_SCOPES, RESOURCE, issuer)


async def test_what_is_no_issuer_and_no_place_of_keys(company: Company) -> None:
    for issuer in (
        "",
        "idp",
        "ftp://idp.example",
        f"{IDP}?x",
        f"{IDP}#x",
        "https://u@idp.example",
        f"{IDP}/ ",
        IDP + "\n",
    ):
        with pytest.raises(Invalid):
            await company.trusted.trust(ACTOR, company.tenant.id, issuer, company.jwks_uri)
    for uri in (
        "x",
        "http://idp.example/keys",
        "https://10.0.0.1/keys",
        "https://localhost/keys",
        "https://a.example:22/",
    ):
        with pytest.raises(Invalid):
            await company.trusted.trust(ACTOR, company.tenant.id, IDP, uri)


async def test_keys_are_found_by_the_issuer_s_own_metadata(company: Company) -> None:
    issuer = company.keys.url
    told = {"issuer": issuer, "jwks_uri": company.jwks_uri}

    async def metadata(exchange: Exchange) -> None:
        known = exchange.request.target == "/.well-known/oauth-authorization-server"
        exchange.send(200 if known else 404, json.dumps(told).encode(), content_type="application/json")

    company.keys.scripts = [metadata]
    assert (await company.trusted.trust(ACTOR, company.tenant.id, issuer)).jwks_uri == company.jwks_uri
    told["issuer"] = issuer + "/"
    with pytest.raises(Unavailable):
        await company.trusted.trust(ACTOR, company.tenant.id, issuer)
