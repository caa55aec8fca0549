"""What is particular about each vendor, as data. Written from vendors.md §2 and the pages that it names, not from our
own providers.toml: where the two differ, a test fails."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Refusal = Callable[[], tuple[int, dict[str, Any]]]
DAY = 86_400


def rfc(error: str, status: int = 400, **more: object) -> Refusal:
    """An error as RFC 6749 §5.2 has it."""
    return lambda: (status, {"error": error, "error_description": f"made up for {error}", **more})


@dataclass(frozen=True)
class Style:
    """One vendor. `refusals` are its answers to what is wrong, by ``dead``, ``client``, ``code``, ``request``."""

    provider_id: str
    token_path: str
    takes: str = "form"
    client_auth: frozenset[str] = frozenset({"post", "basic"})
    pkce: bool = True
    """It knows code_verifier; one that does not refuses it as unknown."""
    form_unless_asked: bool = False
    ok_status: int = 200
    headers: tuple[str, ...] = ()
    access_seconds: int | str | None = 3600
    refresh_seconds: int | None = None
    gives_refresh: bool = True
    rotates: bool = True
    old_stays_good: bool = False
    omits_refresh: bool = False
    """A refresh's answer has no refresh token."""
    grace_seconds: float = 0.0
    kills_access: bool = False
    unreported: tuple[str, ...] = ()
    scope_separator: str | None = " "
    """None: an answer names no scopes."""
    scope_names: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    claims: Mapping[str, Any] | None = None
    refusals: Mapping[str, Refusal] = field(default_factory=dict[str, Refusal])
    revoke: tuple[str, str, str, str, int] | None = None
    """Method, path, form, field, and the status that says yes."""
    revoke_client_auth: str | None = None
    revokes_by: str = "either"
    """Which token ends a grant: ``access``, ``refresh`` or either."""
    resources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Paths that answer a good token or key."""
    settings: tuple[str, ...] = ()
    """The settings of the provider that are this vendor's origin."""
    idle_days: float | None = None
    """A grant that was not refreshed for so long is dead; with `life_days`, so long after the consent in any case."""
    life_days: float | None = None
    most_grants: int | None = None
    """Of one person: the oldest ends without a word when there is one more."""
    refresh_needs: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the authorization request has to say, or there is no refresh token."""
    refresh_scope: str = ""
    """The scope without which there is none."""
    same_grant_again: bool = False
    """A person who agrees once more is given the grant that there is, with the tokens that it has."""
    client_id: str = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"


_FITBIT_ERROR = "https://dev.fitbit.example/reference"


def _fitbit(error: str, status: int = 400) -> Refusal:
    told = {"errors": [{"errorType": error, "message": f"made up; see {_FITBIT_ERROR}"}], "success": False}
    return lambda: (status, told)


def _aadsts(error: str, code: int, status: int = 400) -> Refusal:
    text = f"AADSTS{code}: made up.\r\nTrace ID: 0000aaaa-11bb-cccc-dd22-eeeeee333333"
    return lambda: (status, {"error": error, "error_description": text, "error_codes": [code], "trace_id": "0000aaaa"})


def _notion(code: str, status: int) -> Refusal:
    told = {"object": "error", "status": status, "code": code, "message": "made up", "request_id": "r"}
    return lambda: (status, told)


def microsoft_refusal(error: str, code: int, status: int = 400) -> Refusal:
    """Microsoft's error with an AADSTS number."""
    return _aadsts(error, code, status)


def notion_refusal(code: str, status: int) -> Refusal:
    """The error form of Notion's API."""
    return _notion(code, status)


_RFC = {
    "dead": rfc("invalid_grant"),
    "client": rfc("invalid_client", 401),
    "code": rfc("invalid_grant"),
    "request": rfc("invalid_request"),
}
_GITHUB = {
    "dead": rfc("bad_refresh_token", 200, error_uri="https://docs.github.example/refreshing"),
    "client": rfc("incorrect_client_credentials", 200, error_uri="https://docs.github.example/troubleshooting"),
    "code": rfc("bad_verification_code", 200, error_uri="https://docs.github.example/troubleshooting"),
    "request": rfc("unsupported_grant_type", 200),
}

STYLES: Mapping[str, Style] = {
    one.provider_id: one
    for one in (
        Style(
            "google",
            "/token",
            access_seconds=3599,
            rotates=False,
            omits_refresh=True,
            idle_days=182,
            most_grants=100,
            refresh_needs={"access_type": "offline", "prompt": "consent"},
            scope_names={"email": "https://www.googleapis.com/auth/userinfo.email"},
            claims={"sub": "1077", "email": "ada@acme.example", "iss": "https://accounts.google.com"},
            refusals=_RFC,
            revoke=("POST", "/revoke", "form", "token", 200),
            revoke_client_auth="nothing",
        ),
        Style(
            "microsoft",
            "/common/oauth2/v2.0/token",
            access_seconds=4130,
            old_stays_good=True,
            idle_days=90,
            refresh_scope="offline_access",
            unreported=("openid", "profile", "offline_access"),
            scope_names={"Tasks.Read": "https://graph.microsoft.com/Tasks.Read"},
            claims={"oid": "00000000-aaaa", "preferred_username": "ada@acme.example", "tid": "11111111-bbbb"},
            refusals={
                "dead": _aadsts("invalid_grant", 700082),
                "client": _aadsts("invalid_client", 7000215, 401),
                "code": _aadsts("invalid_grant", 54005),
                "request": _aadsts("invalid_request", 900144),
            },
            settings=("authority",),
        ),
        Style(
            "notion",
            "/v1/oauth/token",
            takes="json",
            client_auth=frozenset({"basic"}),
            pkce=False,
            headers=("Notion-Version",),
            access_seconds=None,
            scope_separator=None,
            extra={
                "bot_id": "b0t",
                "workspace_id": "w0rk",
                "workspace_name": "Acme",
                "workspace_icon": None,
                "duplicated_template_id": None,
                "request_id": "r3q",
                "owner": {
                    "type": "user",
                    "user": {
                        "object": "user",
                        "id": "u5er",
                        "type": "person",
                        "name": "Ada",
                        "avatar_url": None,
                        "person": {"email": "ada@acme.example"},
                    },
                },
            },
            refusals={
                "dead": rfc("invalid_grant"),
                "client": rfc("invalid_client", 401),
                "code": rfc("invalid_grant"),
                "request": _notion("validation_error", 400),
            },
            revoke=("POST", "/v1/oauth/revoke", "json", "token", 200),
            revokes_by="access",
            resources={
                "/v1/users/me": {
                    "object": "user",
                    "id": "b0t",
                    "type": "bot",
                    "name": "MCPist",
                    "bot": {"workspace_name": "Acme"},
                }
            },
        ),
        Style(
            "atlassian",
            "/oauth/token",
            takes="json",
            client_auth=frozenset({"post"}),
            grace_seconds=600,
            idle_days=90,
            life_days=365,
            refresh_scope="offline_access",
            unreported=("offline_access",),
            revoke=("POST", "/oauth/revoke", "json", "token", 200),
            refusals={
                **_RFC,
                "dead": lambda: (
                    403,
                    {"error": "unauthorized_client", "error_description": "refresh_token is invalid"},
                ),
                "client": rfc("access_denied", 401),
            },
            resources={
                "/me": {"account_id": "5b10a", "email": "ada@acme.example", "name": "Ada"},
                "/oauth/token/accessible-resources": [
                    {"id": "c1", "name": "acme", "url": "https://acme.atlassian.example", "scopes": ["read:jira-work"]},
                    {"id": "c2", "name": "beta", "url": "https://beta.atlassian.example", "scopes": ["read:jira-work"]},
                ],
            },
        ),
        Style(
            "github",
            "/login/oauth/access_token",
            client_auth=frozenset({"post"}),
            form_unless_asked=True,
            access_seconds=28_800,
            refresh_seconds=15_811_200,
            idle_days=183,
            kills_access=True,
            scope_separator="",
            refusals=_GITHUB,
            revoke=("DELETE", "/applications/{client_id}/grant", "json", "access_token", 204),
            revokes_by="access",
            revoke_client_auth="basic",
            resources={
                "/user": {"id": 583231, "login": "octocat"},
                "/user/installations": {"total_count": 1, "installations": []},
            },
            settings=("base_url", "api_url"),
            client_id="Iv1.8a61f9b3a7aba766",
        ),
        Style(
            "github_oauth_app",
            "/login/oauth/access_token",
            client_auth=frozenset({"post"}),
            form_unless_asked=True,
            access_seconds=None,
            gives_refresh=False,
            most_grants=10,
            scope_separator=",",
            refusals=_GITHUB,
            revoke=("DELETE", "/applications/{client_id}/grant", "json", "access_token", 204),
            revokes_by="access",
            revoke_client_auth="basic",
            resources={"/user": {"id": 583231, "login": "octocat"}},
            settings=("base_url", "api_url"),
        ),
        Style(
            "supabase",
            "/v1/oauth/token",
            ok_status=201,
            scope_separator=None,
            refusals={
                "dead": lambda: (406, {"message": "Invalid refresh token"}),
                "client": lambda: (401, {"message": "Invalid client"}),
                "code": lambda: (406, {"message": "Invalid authorization code"}),
                "request": lambda: (400, {"message": "grant_type must be one of the allowed ones"}),
            },
            revoke=("POST", "/v1/oauth/revoke", "json", "refresh_token", 204),
            revokes_by="refresh",
            resources={"/v1/organizations": [{"id": "acme-org", "name": "Acme"}]},
        ),
        Style(
            "fitbit",
            "/oauth2/token",
            client_auth=frozenset({"basic"}),
            access_seconds=28_800,
            grace_seconds=120,
            extra={"user_id": "2B4X"},
            refusals={
                "dead": _fitbit("invalid_grant"),
                "client": _fitbit("invalid_client", 401),
                "code": _fitbit("invalid_grant"),
                "request": _fitbit("invalid_request"),
            },
            revoke=("POST", "/oauth2/revoke", "form", "token", 200),
        ),
        Style("toggl", "/none", resources={"/api/v9/me": {"id": 4711, "email": "ada@acme.example"}}),
    )
}
