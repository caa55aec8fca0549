"""The same table of redirect URIs at somebody else's certified server: where its verdicts differ from ours, ours are
stricter, and the table says so (threat-model.md §2, row 11)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from broker.authorization_server.authorization_codes import compute_code_challenge
from tests.broker.authorization_server.redirect_table import PAIRS, REGISTRATIONS
from tests.support.oauth_provider import OauthProvider, oauth_provider

HERE = "http://127.0.0.1/callback"


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path, redirect_uris=[HERE]) as running:
        yield running


async def registered(http: httpx2.AsyncClient, uri: str, *, web: bool) -> str | None:
    """The id of a client with that redirect URI; None where the provider does not take it."""
    asked: dict[str, Any] = {
        "redirect_uris": [uri],
        "application_type": "web" if web else "native",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
    }
    answer = await http.post("/reg", json=asked)
    assert answer.status_code in (201, 400), answer.text
    return answer.json()["client_id"] if answer.status_code == 201 else None


async def test_what_may_be_registered_there(provider: OauthProvider) -> None:
    verdicts: dict[str, bool] = {}
    async with httpx2.AsyncClient(base_url=provider.issuer) as http:
        for one in REGISTRATIONS:
            verdicts[one.uri] = await registered(http, one.uri, web=one.web) is not None
    assert verdicts == {one.uri: one.provider_allows for one in REGISTRATIONS}
    assert [one.uri for one in REGISTRATIONS if one.allowed and not one.provider_allows] == []


async def test_what_may_be_asked_for_there(provider: OauthProvider) -> None:
    verdicts: dict[tuple[str, str], bool] = {}
    clients: dict[str, str | None] = {}
    async with httpx2.AsyncClient(base_url=provider.issuer) as http:
        for pair in PAIRS:
            if pair.registered not in clients:
                clients[pair.registered] = await registered(
                    http, pair.registered, web=pair.registered.startswith("https")
                )
            asked = {
                "client_id": clients[pair.registered],
                "redirect_uri": pair.asked,
                "response_type": "code",
                "scope": "openid",
                "code_challenge": compute_code_challenge("v" * 43),
                "code_challenge_method": "S256",
            }
            answer = await http.get("/auth", params=asked, follow_redirects=False)
            assert answer.status_code in (302, 303, 400), answer.text
            verdicts[(pair.registered, pair.asked)] = answer.status_code != 400
    assert None not in clients.values()
    assert verdicts == {(pair.registered, pair.asked): pair.provider_allows for pair in PAIRS}
    assert [pair for pair in PAIRS if pair.allowed and not pair.provider_allows] == []
