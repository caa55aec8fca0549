"""Browser sessions at a server: one's own, or for administrators those of a user."""

from broker.identity.sessions import SessionEntry
from gateway.cli.remote.api import Api
from gateway.cli.remote.me import me
from gateway.cli.remote.people import user_of


def sessions(api: Api, user: str | None) -> tuple[str, list[SessionEntry]]:
    """Whose they are, and the live ones, newest first."""
    mine = me(api)
    if user is None or user.lower() == mine.email:
        return mine.email, list(api.all("/sessions", SessionEntry))
    owner = user_of(api, user)
    return owner.email, list(api.all("/sessions", SessionEntry, user=str(owner.id)))


def end_session(api: Api, session_id: str) -> None:
    """End a session at once."""
    api.delete("/sessions/{}", session_id, missing="there is no such live session; `mcpist session list` shows them")
