"""Browser sessions: one's own, or for administrators and the operator those of a user."""

from broker.identity.browser_sessions import SessionEntry
from cli.client.admin_api import AdminApiClient
from cli.client.me import fetch_profile
from cli.client.users import fetch_user, resolve_user


def fetch_sessions(api: AdminApiClient, user: str | None) -> tuple[str, list[SessionEntry]]:
    """Return the owner and the live sessions, newest first."""
    if api.is_operator:
        owner = resolve_user(api, user)
    else:
        profile = fetch_profile(api)
        if user is None or user.lower() == profile.email:
            return profile.email, list(api.iterate("/sessions", SessionEntry))
        owner = fetch_user(api, user)
    return owner.email, list(api.iterate("/sessions", SessionEntry, user=str(owner.id)))


def end_session(api: AdminApiClient, session_id: str) -> None:
    """End a session at once."""
    api.delete("/sessions/{}", session_id, missing="there is no such live session; `mcpist session list` shows them")
