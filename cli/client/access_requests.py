"""Access requests at a server."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.roles import fetch_role


@dataclass(frozen=True, slots=True)
class AccessRequestEntry:
    """A person's request for a tool, or with an empty `tool` for a module."""

    id: UUID
    email: str
    module: str
    tool: str
    message: str
    state: str
    created_at: datetime
    decided_by: str
    role: str
    reason: str


def fetch_requests(api: AdminApiClient, state: str | None) -> list[AccessRequestEntry]:
    """Fetch the requests of the whole tenant, newest first."""
    return list(api.iterate("/access-requests", AccessRequestEntry, all_owners="true", state=state))


def add_request(api: AdminApiClient, module: str, tool: str, message: str) -> AccessRequestEntry:
    """Ask for a tool as the signed-in person."""
    body = {"module": module, "tool": tool, "message": message}
    return api.create("/access-requests", AccessRequestEntry, body)[0]


def approve_request(api: AdminApiClient, request_id: str, role: str, *, allow: bool) -> AccessRequestEntry:
    """Approve a request into a role, which `allow` lets be changed for it."""
    body = {"role_id": str(fetch_role(api, role).id), "allow": allow}
    response = api.change(
        "POST", "/access-requests/{}/approval", body, request_id, missing="there is no request of this id"
    )
    return msgspec.convert(response.json(), AccessRequestEntry)


def decline_request(api: AdminApiClient, request_id: str, reason: str) -> AccessRequestEntry:
    """Decline a request for a reason that the person reads."""
    response = api.change(
        "POST",
        "/access-requests/{}/refusal",
        {"reason": reason},
        request_id,
        missing="there is no request of this id",
    )
    return msgspec.convert(response.json(), AccessRequestEntry)


def reopen_request(api: AdminApiClient, request_id: str) -> AccessRequestEntry:
    """Take back the decision about a request."""
    response = api.change(
        "POST", "/access-requests/{}/reopening", None, request_id, missing="there is no request of this id"
    )
    return msgspec.convert(response.json(), AccessRequestEntry)


def withdraw_request(api: AdminApiClient, request_id: UUID) -> None:
    """Withdraw an open request of one's own."""
    api.delete("/access-requests/{}", str(request_id), missing="you have no open request of this id")
