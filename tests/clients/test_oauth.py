"""The official Python SDK client with nothing but the URL: discovery, registration, sign-in, consent, call, refresh and
step-up, in both eras, against the product in a process of its own."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.clients.browser_person import BrowserPerson
from tests.clients.deployment import REDIRECT, ClientsDeployment, signed_in
from tests.support.eventually import within
from tests.support.running_product import command

ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


@dataclass
class Storage:
    """Where the client keeps what it has; `refreshed` counts new tokens."""

    client: OAuthClientInformationFull | None = None
    tokens: list[OAuthToken] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens[-1] if self.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens.append(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@contextlib.asynccontextmanager
async def connected(
    deployment: ClientsDeployment,
    person: BrowserPerson,
    storage: Storage,
    mode: str,
    *,
    little: bool = False,
    **way: Any,
) -> AsyncIterator[tuple[Client, OAuthClientProvider]]:
    """A client that was given the URL; `way` is how it becomes known. With `little` it begins with reading: it would
    ask for all scopes that the challenge names."""
    came_back: list[AuthorizationCodeResult] = []

    async def go(url: str) -> None:
        if little and not storage.tokens:
            url = str(httpx2.URL(url).copy_set_param("scope", "mcp:read"))
        came_back.append(AuthorizationCodeResult.model_validate(await person.agree(url)))

    async def answer() -> AuthorizationCodeResult:
        return came_back.pop()

    metadata = OAuthClientMetadata(client_name="SDK of Python", redirect_uris=[AnyUrl(REDIRECT)])
    provider = OAuthClientProvider(deployment.mcp_url, metadata, storage, go, answer, **way)
    async with (
        httpx2.AsyncClient(auth=provider, trust_env=False, timeout=20) as http,
        Client(streamable_http_client(deployment.mcp_url, http_client=http), mode=mode) as client,
    ):
        yield client, provider


async def create(client: Client, name: str) -> Any:
    entity = {"name": name, "entityType": "person", "observations": ["was here"]}
    params = {"module": "knowledge_graph", "tool_name": "create_entities", "params": {"entities": [entity]}}
    return await client.call_tool("call", params)


async def way_of(deployment: ClientsDeployment, kind: str, storage: Storage) -> dict[str, Any]:
    """How the client becomes known."""
    if kind == "document":
        return {"client_metadata_url": deployment.host.client_id}
    if kind == "registered":
        made = await command(deployment.home, deployment.port, "client", "add", "By hand", "--redirect-uri", REDIRECT)
        redirect_uris = [AnyUrl(REDIRECT)]
        storage.client = OAuthClientInformationFull(
            client_id=made["client_id"], redirect_uris=redirect_uris, issuer=deployment.issuer
        )
    return {}


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("kind", ["dynamic", "document", "registered"])
async def test_a_url_is_enough(deployment: ClientsDeployment, mode: str, kind: str) -> None:
    storage = Storage()
    way = await way_of(deployment, kind, storage)
    async with (
        signed_in(deployment) as person,
        connected(deployment, person, storage, mode, **way) as (client, provider),
    ):
        assert client.protocol_version == ERAS[mode]
        assert not (await create(client, f"Ada {kind} {mode}")).is_error
        asked = len(person.asked)
        assert asked == 1 or (kind == "document" and asked == 0), "a client that comes again is not asked about again"
        provider.context.token_expiry_time = 1.0  # it lies in the past, as far as the client knows
        assert not (await create(client, f"Bob {kind} {mode}")).is_error
        assert len(person.asked) == asked, "a refresh asks nobody"
    first, second = storage.tokens
    assert first.access_token != second.access_token
    assert first.refresh_token != second.refresh_token
    assert storage.client is not None
    kinds = {"dynamic": "dyn_", "document": "https://", "registered": ""}
    assert str(storage.client.client_id).startswith(kinds[kind])


@pytest.mark.parametrize("mode", ERAS)
async def test_stepping_up(deployment: ClientsDeployment, mode: str) -> None:
    storage = Storage()
    way = await way_of(deployment, "document", storage)
    async with signed_in(deployment) as person:
        async with connected(deployment, person, storage, mode, little=True, **way) as (client, _):
            assert [tool.name for tool in (await client.list_tools()).tools]
            assert not (await create(client, f"Step up {mode}")).is_error
        assert storage.tokens[0].scope == "mcp:read"
        assert "mcp:write" in (storage.tokens[-1].scope or "").split()


async def test_a_revoked_grant_ends_the_client(deployment: ClientsDeployment) -> None:
    storage = Storage()
    async with signed_in(deployment) as person:
        async with connected(deployment, person, storage, "2026-07-28") as (client, _):
            assert not (await create(client, "Before")).is_error
        token, refresh = storage.tokens[-1].access_token, storage.tokens[-1].refresh_token
        assert storage.client is not None
        form = {"token": refresh, "client_id": storage.client.client_id}
        ended = await person.browser.post(f"{deployment.issuer}/oauth/revoke", data=form)
        assert ended.status_code == 200

        async def is_refused() -> bool:
            answer = await person.browser.post(
                deployment.mcp_url, headers={"Authorization": f"Bearer {token}"}, json={}
            )
            return answer.status_code == 401

        await within(1.0, is_refused)
        again = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": storage.client.client_id}
        spent = await person.browser.post(f"{deployment.issuer}/oauth/token", data=again)
        assert (spent.status_code, spent.json()["error"]) == (400, "invalid_grant")
