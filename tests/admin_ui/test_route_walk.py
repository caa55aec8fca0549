"""Every route of the OpenAPI document × every kind of caller × what is theirs, another tenant's, nobody's
(threat-model.md §2, rows 1 and 2)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from fastapi import APIRouter

from core.api.app import ApiSection, build_fastapi_app, create_router
from tests.admin_ui.admin_app import OPERATORS, URL, AdminApp, Person, Tenant

IDENTITY_PROVIDER = {
    "kind": "oidc",
    "issuer": "https://localhost",
    "client_id": "made-up",
    "client_secret": "made-up",
}
MAIL_SENDER = {"server": "127.0.0.1", "sender": "MCPist <mcpist@acme.example>"}
WEBHOOK_SENDER = {"url": "https://localhost/", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
BODIES: Mapping[str, Any] = {
    "POST /tenants": {"slug": "acme", "administrator": "somebody@acme.example"},
    "PATCH /tenants/{tenant_id}": {"name": "Changed"},
    "PATCH /tenant": {"record_arguments": True},
    "PATCH /me": {"single_key_shortcuts": False},
    "PATCH /jobs/{job_id}": {"notify": "failure"},
    "PATCH /schedules/{schedule_id}": {"title": "Changed"},
    "POST /access-requests": {"module": "$module", "tool": "$tool", "message": "please"},
    "POST /access-requests/{request_id}/approval": {"role_id": "$role_id", "allow": True},
    "POST /access-requests/{request_id}/refusal": {"reason": "no"},
    "POST /audit/verification": {},
    "POST /users": {"email": "$email"},
    "PATCH /users/{user_id}": {"name": "Changed", "status": "suspended"},
    "POST /roles": {"name": "$role", "allow": ["kg.*"]},
    "PATCH /roles/{role_id}": {"priority": 3},
    "POST /scim-tokens": {"name": "Entra ID"},
    "POST /role-mappings": {"kind": "group", "provider": "acme", "value": "$role", "role_id": "$role_id"},
    "PUT /roles/{role_id}/permissions": {"allow": ["*"], "deny": []},
    "PATCH /roles/{role_id}/permissions": {"add": {"allow": ["kg.search"]}, "remove": {"deny": ["kg.*"]}},
    "POST /oauth/clients": {
        "name": "Machine",
        "auth_method": "client_secret_basic",
        "grant_types": ["client_credentials"],
        "acts_as_user_id": "$user_id",
    },
    "PATCH /oauth/clients/{client_id}": {"enabled": False},
    "PUT /oauth/issuers": {"issuer": "https://idp.example", "jwks_uri": "https://idp.example/keys"},
    "POST /tokens": {"name": "mine", "scopes": ["mcp:read"]},
    "POST /leaked": ["mcpist_made_up"],
    "PATCH /services/{module}": {"enabled": True, "settings": {"timeout": 5}},
    "PUT /services/{module}/oauth-client": {"client_id": "made-up", "client_secret": "made-up"},
    "PUT /services/{module}/credential": {"secret": "made-up", "role_id": "$role_id"},
    "POST /connect-sessions": {"services": ["kg"], "role_id": "$role_id"},
    "PUT /oauth-clients": {
        "provider": "github",
        "role_id": "$role_id",
        "client_id": "made-up",
        "client_secret": "made-up",
    },
    "PUT /providers/{provider_id}": {
        "document": {
            "title": "Made up",
            "oauth": {
                "authorize_url": "https://made-up.example/authorize",
                "token_url": "https://made-up.example/token",
            },
        }
    },
    "POST /providers/discover": {"url": "https://localhost"},
    "POST /deployment/identity-providers/test": {"id": "walked", **IDENTITY_PROVIDER},
    "PUT /deployment/identity-providers/{identity_provider_id}": IDENTITY_PROVIDER,
    "POST /schedules": {"title": "Walked", "module": "kg", "tool": "search", "every_seconds": 3600},
    "PUT /deployment/audit-retention": {"keep_months": 24},
    "PUT /deployment/client-trust": {"dynamic_registration": False, "client_metadata_hosts": ["*.example"]},
    "POST /deployment/notification-senders/mail/test": MAIL_SENDER,
    "POST /audit-stream/test": WEBHOOK_SENDER,
    "PUT /audit-stream": WEBHOOK_SENDER,
    "PUT /tenant-keys/{tenant_key_kind}": {"secret": "made-up"},
    "PUT /notification-settings": {"alert": "account", "mail": False, "administrators": True},
    "PUT /notification-preferences": {"alert": "account", "mail": False},
    "PUT /deployment/notification-senders/mail": MAIL_SENDER,
    "POST /deployment/notification-senders/webhook/test": WEBHOOK_SENDER,
    "PUT /deployment/notification-senders/webhook": WEBHOOK_SENDER,
}
FIXED = {"sender_kind": "webhook"}
"""What stands for placeholders that name nothing of anybody's."""
ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the document; `path` has placeholders."""

    method: str
    path: str
    access: Mapping[str, Any]
    asks_whose: bool
    has_body: bool
    wants_confirmation: bool

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def admits(self, kind: str, by: str) -> bool:
        """Whether the declaration lets this kind of caller through, whose session is young."""
        ranks = {"nobody": 0, "user": 1, "admin": 2, "operator": 3}
        needed = {"anyone": 0, "user": 1, "admin": 2, "operator": 3}[self.access["required_role"]]
        return ranks[kind] >= needed and not (self.access["recent_sign_in"] and by == "token")


def operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    for path, there in document["paths"].items():
        for method, told in there.items():
            queries = {one["name"] for one in told.get("parameters", ()) if one["in"] == "query"}
            short = path.removeprefix("/api/v1")
            asks = ("user" in queries, "requestBody" in told, "confirm" in queries)
            yield Operation(method.upper(), short, told["x-access"], *asks)


def ids_of(tenant: Tenant, person: Person) -> dict[str, str]:
    """What stands for the placeholders."""
    return {
        "tenant_id": str(tenant.id),
        "user_id": str(person.id),
        "role_id": str(tenant.role_id),
        "mapping_id": str(tenant.mapping_id),
        "scim_token_id": str(tenant.scim_token_id),
        "session_id": str(person.session_id),
        "grant_id": str(person.grant_id),
        "mandate_id": str(person.mandate_id),
        "identity_id": str(person.identity_id),
        "client_id": tenant.client_id,
        "token_id": person.token_id,
        "credential_id": str(tenant.credential_id),
        "oauth_client_id": str(tenant.oauth_client_id),
        "connect_session_id": str(tenant.connect_session_id),
        "request_id": str(tenant.request_id),
        "job_id": str(tenant.job_id),
        "schedule_id": str(tenant.schedule_id),
        "provider_id": tenant.provider_id,
        "identity_provider_id": f"of-{tenant.slug}",
        "tenant_key_kind": f"kind_of_{tenant.slug}",
        "module": f"module_of_{tenant.slug}",
        "tool": f"tool_of_{tenant.slug}",
        "entry": tenant.entry,
        "email": person.email,
        "role": f"{tenant.slug}-readers",
        "slug": tenant.slug,
    }


def made_up() -> dict[str, str]:
    """The same forms, and nobody's."""
    names = (
        "tenant_id",
        "user_id",
        "role_id",
        "mapping_id",
        "scim_token_id",
        "session_id",
        "grant_id",
        "mandate_id",
        "identity_id",
        "credential_id",
        "oauth_client_id",
        "connect_session_id",
        "request_id",
        "job_id",
        "schedule_id",
    )
    random = {
        "client_id": f"client_{uuid4().hex[:22]}",
        "token_id": uuid4().hex[:12],
        "entry": "@made-up.example",
        "module": "made_up",
        "tool": "made_up",
        "provider_id": f"p{uuid4().hex[:20]}",
        "identity_provider_id": f"p{uuid4().hex[:20]}",
        "tenant_key_kind": f"k{uuid4().hex[:20]}",
    }
    return {name: str(uuid4()) for name in names} | random


async def asked(client: httpx2.AsyncClient, one: Operation, ids: Mapping[str, str]) -> httpx2.Response:
    path = one.path.format_map({name: value.replace("@", "%40") for name, value in {**FIXED, **ids}.items()})
    body = BODIES.get(one.name)
    filled = json.dumps(body)
    for name, value in ids.items():
        filled = filled.replace(f'"${name}"', json.dumps(value))
    params = {"user": ids["user_id"]} if one.asks_whose else {}
    if one.wants_confirmation:
        params["confirm"] = ids.get("slug", "made-up")
    options: dict[str, Any] = {} if body is None else {"json": json.loads(filled)}
    return await client.request(one.method, path, params=params, **options)


def told(answer: httpx2.Response) -> Any:
    """All of an answer but what names the request, and a stream's signs of life."""
    request_id = answer.headers["x-request-id"]
    headers = {name: value for name, value in answer.headers.items() if name not in ("x-request-id", "content-length")}
    return answer.status_code, headers, answer.text.replace(request_id, "").replace(": ping\n\n", "")


@dataclass(frozen=True, slots=True)
class Caller:
    kind: str
    by: str
    client: httpx2.AsyncClient


def callers(app: AdminApp, tenant: Tenant, operators: Tenant) -> list[Caller]:
    people = {"user": tenant.user, "admin": tenant.admin, "operator": operators.admin}
    sessions = [Caller(kind, "session", app.browser(person)) for kind, person in people.items()]
    tokens = [Caller(kind, "token", app.script(person.token)) for kind, person in people.items()]
    return [Caller("nobody", "nothing", app.caller(Origin=URL)), *sessions, *tokens]


async def rows_of(app: AdminApp, tenant: Tenant) -> dict[str, list[str]]:
    """Every row of a tenant, in every table that has tenants."""
    async with app.database.admin_connection() as admin:
        tables = await admin.fetch(
            """SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
            WHERE n.nspname IN ('core', 'auth', 'vault', 'audit', 'modules', 'jobs') AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition"""
        )
        found = {}
        for table in [row["name"] for row in tables]:
            rows = await admin.fetch(f"SELECT t::text AS row FROM {table} t WHERE tenant_id = $1 ORDER BY 1", tenant.id)
            found[table] = [row["row"] for row in rows]
    return found


@pytest.mark.guarantee("G9")
async def test_another_tenant_s_things_answer_like_made_up_ones(app: AdminApp) -> None:
    acme, globex = await app.tenant("acme"), await app.tenant("globex")
    operators = await app.tenant(OPERATORS)
    before = await rows_of(app, globex)
    foreign, nobodys = ids_of(globex, globex.user), made_up()
    walked = list(operations(app.openapi()))
    for caller in callers(app, acme, operators):
        for one in walked:
            if caller.kind == "operator" and one.access["required_role"] == "operator":
                continue  # the deployment's tenants are the operator's own
            if one.name in ("POST /users", "POST /roles", "PUT /allow-list/{entry}", "PUT /providers/{provider_id}"):
                continue  # a new thing of one's own, whatever others call theirs
            theirs, random = await asked(caller.client, one, foreign), await asked(caller.client, one, nobodys)
            where = f"{caller.kind} by {caller.by}: {one.name}"
            if one.name in ("POST /tokens", "POST /leaked") or theirs.status_code == 201:
                assert "globex" not in theirs.text, where
                continue
            assert told(theirs) == told(random), where
            assert not any(value in theirs.text for value in foreign.values()), where
            if "{" in one.path and one.admits(caller.kind, caller.by) and one.access["required_role"] != "operator":
                assert theirs.status_code == 404, where
    assert await rows_of(app, globex) == before


@pytest.mark.guarantee("G9")
async def test_each_route_admits_whom_it_declares_and_nobody_else(app: AdminApp) -> None:
    acme, operators = await app.tenant("acme"), await app.tenant(OPERATORS)
    walked = sorted(operations(app.openapi()), key=lambda one: ORDER.index(one.method))
    victims = {
        tenant.slug: await app.person(tenant.id, f"victim@{tenant.slug}.example", "user")
        for tenant in (acme, operators)
    }
    for one in walked:
        for caller in callers(app, acme, operators):
            tenant = operators if caller.kind == "operator" else acme
            ids = ids_of(tenant, victims[tenant.slug])
            if one.name == "PATCH /tenants/{tenant_id}" or "{" not in one.path:
                ids |= {"email": f"{uuid4().hex}@acme.example", "role": uuid4().hex}
            answer = await asked(caller.client, one, ids)
            where = f"{caller.kind} by {caller.by}: {one.name}: {answer.status_code} {answer.text}"
            if one.admits(caller.kind, caller.by):
                admitted = answer.status_code < 500 and answer.status_code != 401
                # "user" routes admit everybody, and refuse what is not theirs.
                assert admitted, where
                assert answer.status_code != 403 or (caller.kind == "user" and one.asks_whose), where
            else:
                assert answer.status_code == (401 if caller.kind == "nobody" else 403), where
            if (
                caller.kind == "user"
                and one.access["required_role"] == "user"
                and "{" in one.path
                and one.admits("user", caller.by)
            ):
                assert answer.status_code == 404, where
    for slug in ("acme", OPERATORS):
        # Not one of the walks above was vacuous: what could be taken away is gone.
        assert not await app.value("SELECT count(*) FROM core.users WHERE id = $1", victims[slug].id)


async def test_every_operation_with_a_body_is_walked_with_one(app: AdminApp) -> None:
    documented = {one.name for one in operations(app.openapi()) if one.has_body}
    assert documented == set(BODIES)


def test_a_route_that_declares_nobody_is_not_built() -> None:
    routes = create_router("loose")
    with pytest.raises(TypeError, match="/loose has to declare who may call it"):

        @routes.get("/loose")
        async def loose() -> None: ...


def test_a_router_of_another_kind_is_not_served(app: AdminApp) -> None:
    loose = APIRouter()

    @loose.get("/loose")
    async def handler() -> None: ...

    with pytest.raises(TypeError, match="not declared"):
        build_fastapi_app(app.door, [ApiSection((loose,), {})], "test")


async def test_what_is_for_others_than_administrators_is_this_and_no_more(app: AdminApp) -> None:
    """A wrong declaration would be walked as it is declared: so these stand here once more."""
    known = {
        "GET /me": ("user", []),
        "PATCH /me": ("user", ["mcp:write", "admin:write"]),
        "GET /tools": ("user", ["mcp:read", "admin:read"]),
        "GET /tools/{module}/{tool}": ("user", ["mcp:read", "admin:read"]),
        "GET /tool-modules": ("user", ["mcp:read", "admin:read"]),
        "GET /tool-modules/{module}": ("user", ["mcp:read", "admin:read"]),
        "POST /access-requests": ("user", ["mcp:write", "admin:write"]),
        "GET /access-requests": ("user", ["mcp:read", "admin:read"]),
        "GET /access-requests/{request_id}": ("user", ["mcp:read", "admin:read"]),
        "GET /jobs": ("user", ["mcp:read", "admin:read"]),
        "GET /jobs/{job_id}": ("user", ["mcp:read", "admin:read"]),
        "PATCH /jobs/{job_id}": ("user", ["mcp:write", "admin:write"]),
        "POST /jobs/{job_id}/cancellation": ("user", ["mcp:write", "admin:write"]),
        "POST /jobs/{job_id}/retry": ("user", ["mcp:write", "admin:write"]),
        "GET /schedules": ("user", ["mcp:read", "admin:read"]),
        "POST /schedules": ("user", ["mcp:write"]),
        "GET /schedules/{schedule_id}": ("user", ["mcp:read", "admin:read"]),
        "PATCH /schedules/{schedule_id}": ("user", ["mcp:write", "admin:write"]),
        "POST /schedules/{schedule_id}/pause": ("user", ["mcp:write", "admin:write"]),
        "POST /schedules/{schedule_id}/resumption": ("user", ["mcp:write", "admin:write"]),
        "POST /schedules/{schedule_id}/run": ("user", ["mcp:write", "admin:write"]),
        "DELETE /schedules/{schedule_id}": ("user", ["mcp:write", "admin:write"]),
        "DELETE /access-requests/{request_id}": ("user", ["mcp:write", "admin:write"]),
        "GET /events": ("user", ["mcp:read", "admin:read"]),
        "GET /audit": ("user", ["mcp:read", "admin:read"]),
        "GET /sessions": ("user", ["mcp:read", "admin:read"]),
        "POST /sessions/current/access-token": ("user", ["mcp:write", "admin:write"]),
        "DELETE /sessions": ("user", ["mcp:write", "admin:write"]),
        "DELETE /sessions/{session_id}": ("user", ["mcp:write", "admin:write"]),
        "GET /identities": ("user", ["mcp:read", "admin:read"]),
        "DELETE /identities/{identity_id}": ("user", ["mcp:write", "admin:write"]),
        "GET /oauth/grants": ("user", ["mcp:read", "admin:read"]),
        "DELETE /oauth/grants/{grant_id}": ("user", ["mcp:write", "admin:write"]),
        "GET /mandates": ("user", ["mcp:read", "admin:read"]),
        "DELETE /mandates/{mandate_id}": ("user", ["mcp:write", "admin:write"]),
        "GET /tokens": ("user", ["mcp:read", "admin:read"]),
        "POST /tokens": ("user", ["mcp:write", "admin:write"]),
        "PUT /services/{module}/credential": ("user", ["mcp:write", "admin:write"]),
        "GET /connections": ("user", ["mcp:read", "admin:read"]),
        "GET /connections/{credential_id}": ("user", ["mcp:read", "admin:read"]),
        "POST /connect-sessions": ("user", ["mcp:write", "admin:write"]),
        "GET /connect-sessions": ("user", ["mcp:read", "admin:read"]),
        "GET /connect-sessions/{connect_session_id}": ("user", ["mcp:read", "admin:read"]),
        "DELETE /connect-sessions/{connect_session_id}": ("user", ["mcp:write", "admin:write"]),
        "GET /credentials": ("user", ["mcp:read", "admin:read"]),
        "DELETE /credentials/{credential_id}": ("user", ["mcp:write", "admin:write"]),
        "POST /credentials/{credential_id}/test": ("user", ["mcp:write", "admin:write"]),
        "DELETE /tokens/{token_id}": ("user", ["mcp:write", "admin:write"]),
        "POST /leaked": ("anyone", []),
        "GET /tenants": ("operator", ["admin:read"]),
        "POST /tenants": ("operator", ["admin:write"]),
        "GET /tenants/{tenant_id}": ("operator", ["admin:read"]),
        "PATCH /tenants/{tenant_id}": ("operator", ["admin:write"]),
        "DELETE /tenants/{tenant_id}": ("operator", ["admin:write"]),
        "GET /tenants/{tenant_id}/contents": ("operator", ["admin:read"]),
        "GET /deployment/audit": ("operator", ["admin:read"]),
        "GET /keys": ("operator", ["admin:read"]),
        "GET /deployment/identity-providers": ("operator", ["admin:read"]),
        "GET /deployment/identity-providers/{identity_provider_id}": ("operator", ["admin:read"]),
        "GET /deployment/notification-senders/{sender_kind}": ("operator", ["admin:read"]),
        "POST /deployment/identity-providers/test": ("operator", ["admin:write"]),
        "PUT /deployment/identity-providers/{identity_provider_id}": ("operator", ["admin:write"]),
        "DELETE /deployment/identity-providers/{identity_provider_id}": ("operator", ["admin:write"]),
        "GET /deployment/audit-retention": ("operator", ["admin:read"]),
        "GET /deployment/audit-retention/preview": ("operator", ["admin:read"]),
        "PUT /deployment/audit-retention": ("operator", ["admin:write"]),
        "DELETE /deployment/audit-retention": ("operator", ["admin:write"]),
        "GET /deployment/client-trust": ("operator", ["admin:read"]),
        "PUT /deployment/client-trust": ("operator", ["admin:write"]),
        "DELETE /deployment/client-trust": ("operator", ["admin:write"]),
        "GET /deployment/notification-senders": ("operator", ["admin:read"]),
        "POST /deployment/notification-senders/mail/test": ("operator", ["admin:write"]),
        "PUT /deployment/notification-senders/mail": ("operator", ["admin:write"]),
        "POST /deployment/notification-senders/webhook/test": ("operator", ["admin:write"]),
        "PUT /deployment/notification-senders/webhook": ("operator", ["admin:write"]),
        "DELETE /deployment/notification-senders/{sender_kind}": ("operator", ["admin:write"]),
        "GET /notification-preferences": ("user", ["mcp:read", "admin:read"]),
        "PUT /notification-preferences": ("user", ["mcp:write", "admin:write"]),
        "GET /doctor": ("user", ["mcp:read", "admin:read"]),
    }
    walked = list(operations(app.openapi()))
    assert {
        one.name: (one.access["required_role"], one.access["scopes"])
        for one in walked
        if one.access["required_role"] != "admin"
    } == known
    for one in walked:
        if one.access["required_role"] == "admin":
            assert one.access["scopes"] == ["admin:read" if one.method == "GET" else "admin:write"], one.name
    fresh = {one.name for one in walked if one.access["recent_sign_in"]}
    assert fresh == {
        "POST /tokens",
        "POST /oauth/clients",
        "POST /scim-tokens",
        "PUT /oauth/issuers",
        "POST /users/{user_id}/sign-in-link",
        "DELETE /identities/{identity_id}",
        "PUT /deployment/identity-providers/{identity_provider_id}",
        "PUT /deployment/audit-retention",
        "PUT /deployment/client-trust",
        "DELETE /deployment/client-trust",
        "PUT /deployment/notification-senders/mail",
        "PUT /deployment/notification-senders/webhook",
        "PUT /services/{module}/credential",
        "PUT /audit-stream",
        "PUT /tenant-keys/{tenant_key_kind}",
    }
