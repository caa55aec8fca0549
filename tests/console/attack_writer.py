"""Puts attacks through the admin API into every text of it, as the people who may write there."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx2

from core.directory.tenants import Tenant
from core.directory.users import create_user
from gateway.catalogue import load_installed_modules
from tests.console.attacks import ATTACKS, REFUSED, STORED, TextField, find_kind
from tests.console.console_app import ConsoleApp
from tests.support.directory import create_role
from tests.support.product import ACTOR, Person

ENDPOINTS = {
    "oauth": {"authorize_url": "https://vendor.test/authorize", "token_url": "https://vendor.test/token"},
}
ANYWAY = {"despite_failures": True}
OIDC = {"kind": "oidc", "issuer": "https://127.0.0.1:1", "client_id": "x", "client_secret": "x", **ANYWAY}
MAIL = {"server": "127.0.0.1", "port": 1, "sender": "a@acme.test", "user": "x", "password": "x", **ANYWAY}
WEBHOOK = {"url": "https://127.0.0.1:1/", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", **ANYWAY}
OAUTH_CLIENT = {"client_id": "x", "client_secret": "made-up-secret"}
OPERATORS_ONLY = ("/deployment/", "/tenants")
BY_A_USER = ("POST /access-requests",)


@dataclass(slots=True)
class AttackWriter:
    """Writes attacks, and keeps which of them were taken, by field."""

    app: ConsoleApp
    tenants: Mapping[str, Tenant]
    people: Mapping[str, httpx2.AsyncClient]
    """By what they may do: `admin`, `operator`, `user`."""
    ids: Mapping[str, str]
    requests: Iterator[Mapping[str, str]]
    count: Iterator[int] = field(default_factory=itertools.count)
    taken: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    async def write(self, attacked: TextField) -> None:
        """Each attack into one field; what is taken stays."""
        if find_kind(attacked.key) not in (STORED, REFUSED):
            return
        for name, attack in ATTACKS.items():
            answer = await self._send(attacked, attacked.cut(attack))
            assert answer.status_code < 500, f"{attacked.key}: {answer.status_code} for {name}"
            if answer.is_success:
                self.taken.setdefault(attacked.key, set()).add(name)

    async def _send(self, attacked: TextField, text: str) -> httpx2.Response:
        method, _, path = attacked.operation.partition(" ")
        body = await self._build_body(attacked.operation)
        ids = {
            **self.ids,
            "identity_provider_id": f"idp-{next(self.count)}",
            "provider_id": f"vendor-{next(self.count)}",
        }
        if "{request_id}" in path:
            ids["request_id"] = await self._ask_for_access()
        if f"{{{attacked.name}}}" in path:
            ids[attacked.name] = text
        elif attacked.is_free:
            body[attacked.name] = FREE[attacked.key](text)
        else:
            body[attacked.name] = [text] if attacked.is_list else text
        for placeholder, value in ids.items():
            path = path.replace(f"{{{placeholder}}}", quote(value, safe=""))
        person, sent = self._choose_person(attacked.operation), body or None
        answer = await self.people[person].request(method, f"/api/v1{path}", json=sent)
        if answer.status_code == 429:  # one person may ask for so much in a second; another one has their own
            tenant = self.tenants[person]
            email = f"more-{next(self.count)}@{tenant.slug}.test"
            found = await create_user(self.app.product.console, ACTOR, tenant.id, email, system_role="admin")
            session = await self.app.identity.session(Person(tenant, found, email))
            self.people[person].headers["Cookie"] = session
            answer = await self.people[person].request(method, f"/api/v1{path}", json=sent)
        return answer

    def _choose_person(self, operation: str) -> str:
        if operation in BY_A_USER:
            return "user"
        return "operator" if operation.partition(" ")[2].startswith(OPERATORS_ONLY) else "admin"

    async def _ask_for_access(self) -> str:
        answer = await self.people["user"].post("/api/v1/access-requests", json=next(self.requests))
        return str(answer.raise_for_status().json()["id"])

    async def _build_body(self, operation: str) -> dict[str, Any]:
        number = next(self.count)
        bodies: Mapping[str, Callable[[], Mapping[str, Any]]] = {
            "POST /access-requests": lambda: next(self.requests),
            "PUT /audit-stream": lambda: WEBHOOK,
            "PUT /deployment/client-trust": lambda: {"dynamic_registration": True, "client_metadata_hosts": ["*"]},
            "PUT /deployment/identity-providers/{identity_provider_id}": lambda: OIDC,
            "PUT /deployment/notification-senders/mail": lambda: MAIL,
            "PUT /deployment/notification-senders/webhook": lambda: WEBHOOK,
            "PUT /notification-settings": lambda: {"alert": "account", "mail": True},
            "PUT /oauth-clients": lambda: {"provider": "github", **OAUTH_CLIENT},
            "POST /oauth/clients": lambda: {"name": f"Client {number}", "redirect_uris": ["https://acme.test/back"]},
            "PUT /oauth/issuers": lambda: {"issuer": f"https://idp{number}.test", "jwks_uri": "https://idp.test/keys"},
            "PUT /providers/{provider_id}": lambda: {"document": {"title": "Vendor", **ENDPOINTS}},
            "POST /role-mappings": lambda: {"kind": "group", "provider": "scim", "role_id": self.ids["role_id"]},
            "PUT /tenant-keys/{tenant_key_kind}": lambda: {"secret": "sk-made-up", "despite_failures": True},
            "PUT /services/{module}/oauth-client": lambda: {"provider": "notion", **OAUTH_CLIENT},
            "POST /tenants": lambda: {"slug": f"t{number}", "administrator": f"x{number}@acme.test"},
            "POST /tokens": lambda: {"scopes": ["mcp:read"]},
            "POST /users": lambda: {"email": f"x{number}@acme.test"},
        }
        made = bodies.get(operation)
        return dict(made()) if made else {}


FREE: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "PUT /providers/{provider_id} document": lambda text: {"title": text, **ENDPOINTS},
    "PUT /oauth-clients settings": lambda text: {text: text},
    "PUT /services/{module}/oauth-client settings": lambda text: {text: text},
}


async def open_writer(app: ConsoleApp, stack: Any) -> AttackWriter:
    """A writer with an administrator, an operator, and a user who may nearly nothing; `stack` closes its clients."""
    acme = app.admin.tenant
    asks = await app.product.person(acme, "asks@acme.test", allow=["github:read"])
    await create_role(app.product.console, ACTOR, acme.id, "Attacked")
    victim = await create_user(app.product.console, ACTOR, acme.id, "victim@acme.test")
    people = {"admin": app.admin, "user": asks, "operator": await app.add_operator()}
    clients = {name: await _open_client(app, person, stack) for name, person in people.items()}
    listed = (await clients["admin"].get("/api/v1/roles?q=Attacked")).raise_for_status().json()["items"]
    catalogue = load_installed_modules()
    tools = (tool for name in ("notion", "jira", "confluence") for tool in catalogue.tools[name])
    ids = {"user_id": str(victim), "role_id": listed[0]["id"], "tenant_id": str(acme.id), "module": "notion"}
    tenants = {name: person.tenant for name, person in people.items()}
    return AttackWriter(app, tenants, clients, ids, ({"module": one.module, "tool": one.name} for one in tools))


async def _open_client(app: ConsoleApp, person: Person, stack: Any) -> httpx2.AsyncClient:
    headers = {"Cookie": await app.identity.session(person), "Origin": app.identity.url}
    return await stack.enter_async_context(httpx2.AsyncClient(base_url=app.identity.url, headers=headers))
