"""Where the browser is sent, and which scopes are asked for and lacking."""

from urllib.parse import parse_qs, urlsplit

import pytest

from broker.oauth_client.requests import build_authorize_url, compute_code_challenge, get_expected_issuer
from broker.oauth_client.types import OAuthClientConfig
from broker.oauth_client.vendor_scopes import collect_scopes_to_request, find_missing_scopes, join_scopes
from broker.providers.catalogue import load_builtin_providers
from broker.providers.schema import OAuthServer
from core.errors import Invalid
from core.secret import Secret

OWN = load_builtin_providers()
REDIRECT_URI = "https://mcpist.example/connect/callback?x=1&y"
# RFC 7636, appendix B
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

EXPECTED = {
    "google": {"access_type": "offline", "prompt": "consent", "include_granted_scopes": "true",
               "scope": "openid email one two"},
    "microsoft": {"prompt": "select_account", "scope": "openid profile offline_access one two"},
    "github": {},
    "github_oauth_app": {"scope": "read:user one two"},
    "notion": {"owner": "user"},
    "atlassian": {"audience": "api.atlassian.com", "prompt": "consent", "scope": "offline_access read:me one two"},
    "supabase": {},
    "fitbit": {"scope": "profile one two"},
}  # fmt: skip


@pytest.mark.parametrize("provider_id", EXPECTED)
def test_a_request_has_what_the_vendor_wants_and_nothing_else(provider_id: str) -> None:
    provider, client = OWN.get(provider_id), OAuthClientConfig("our client&id")
    assert provider.oauth is not None
    url = build_authorize_url(
        provider, client, redirect_uri=REDIRECT_URI, state="s+t/a=",
        scopes=collect_scopes_to_request(provider.oauth, ["one", "two"]),
        verifier=Secret(VERIFIER),
    )  # fmt: skip
    told = {name: values[0] for name, values in parse_qs(urlsplit(url).query, strict_parsing=True).items()}
    pkce = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"} if provider.oauth.pkce == "S256" else {}
    usual = {"response_type": "code", "client_id": "our client&id", "redirect_uri": REDIRECT_URI, "state": "s+t/a="}
    assert told == usual | pkce | EXPECTED[provider_id]
    assert url.startswith("https://")


def test_the_challenge_is_that_of_the_specification() -> None:
    assert compute_code_challenge(Secret(VERIFIER)) == CHALLENGE


def test_a_query_of_the_vendors_own_is_kept() -> None:
    settings = {"authorize_url": "https://v.example/a?tenant=x%20y", "token_url": "https://v.example/t"}
    url = build_authorize_url(
        OWN.get("oauth2"), OAuthClientConfig("c", settings={**settings, "resource": "https://r.example/mcp"}),
        redirect_uri=REDIRECT_URI, state="s", scopes=(), verifier=Secret(VERIFIER), login_hint="ada@acme.example",
    )  # fmt: skip
    told = parse_qs(urlsplit(url).query)
    assert (told["tenant"], told["resource"], told["login_hint"]) == (
        ["x y"], ["https://r.example/mcp"], ["ada@acme.example"],
    )  # fmt: skip
    assert "scope" not in told


def test_a_provider_of_keys_sends_nobody_anywhere() -> None:
    with pytest.raises(Invalid, match="supports keys only"):
        build_authorize_url(
            OWN.get("toggl"), OAuthClientConfig("c"), redirect_uri=REDIRECT_URI, state="s", scopes=(), verifier=None
        )


def test_the_issuer_of_an_answer() -> None:
    assert get_expected_issuer(OWN.get("google"), OAuthClientConfig("c")) == "https://accounts.google.com"
    assert get_expected_issuer(OWN.get("github"), OAuthClientConfig("c")) == "https://github.com/login/oauth"
    assert get_expected_issuer(OWN.get("notion"), OAuthClientConfig("c")) == ""


# Scopes

PLAIN = OAuthServer(authorize_url="https://v.example/a", token_url="https://v.example/t")


def of(**changed: object) -> OAuthServer:
    return PLAIN.model_copy(update=changed)


def test_a_step_up_asks_for_what_there_is_as_well() -> None:
    oauth = of(base_scopes=("base",), scope_separator=",")
    assert collect_scopes_to_request(oauth, ["new", "base"], kept=["old", "new"]) == ("base", "old", "new")
    assert join_scopes(oauth, ("a", "b")) == "a,b"
    assert collect_scopes_to_request(of(fixed_scopes=True, base_scopes=("base",)), ["new"]) == ()


def test_what_is_lacking() -> None:
    oauth = of(
        unreported_scopes=("offline",), scope_prefix="https://v.example/", scope_aliases={"https://long/mail": "mail"},
        scope_implies={"all": ("read", "write")},
    )  # fmt: skip
    assert find_missing_scopes(oauth, ["read", "write", "offline", "mail"], ["all", "https://long/mail"]) == ()
    assert find_missing_scopes(oauth, ["read"], ["https://v.example/read"]) == ()
    assert find_missing_scopes(oauth, ["https://v.example/read"], ["read"]) == ()
    assert find_missing_scopes(oauth, ["read", "write"], ["read"]) == ("write",)
    assert find_missing_scopes(oauth, ["all"], ["read", "write"]) == ("all",)
    assert find_missing_scopes(oauth, ["read"], ()) == ("read",)
    assert find_missing_scopes(oauth, ["read"], None) == ()
    assert find_missing_scopes(of(fixed_scopes=True), ["read"], ()) == ()
