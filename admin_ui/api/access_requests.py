"""``/access-requests``: people ask for tools that they may not use; administrators approve into a role, or decline."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query, Request, Response
from pydantic import Field, StringConstraints

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps, ConsoleDatabase
from admin_ui.api.roles import RoleView
from admin_ui.api.tools import is_person_at_hand
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import (
    AdminRead,
    AdminWrite,
    AllOwners,
    CurrentUserWrite,
    OwnerRead,
    UserFilter,
    resolve_owner_filter,
)
from core.api.pagination import Cursor, PageLimit, PriorityKey, TextKey, TimestampKey, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortText
from core.directory import access_requests, roles
from core.directory.access_requests import MAX_TEXT_LENGTH, AccessRequest
from core.directory.tenants import get_tenant
from core.errors import Conflict, Forbidden, NotFound
from core.module_manifest import CapabilityKind
from core.names import MODULE_NAME, MODULE_NAME_FIELD
from core.permissions import Role
from core.policy_loader import load_policy_of_user
from core.scopes import ADMIN_READ

routes = create_router("access-requests")

RequestPath = Annotated[UUID, Path(description="Identifier of the access request.")]
RequestSort = Literal["created_at", "-created_at"]
RequestState = Literal["open", "approved", "declined", "withdrawn"]
FreeText = Annotated[
    str, StringConstraints(max_length=MAX_TEXT_LENGTH, pattern=r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$")
]
OptionalToolName = Annotated[str, StringConstraints(pattern=f"^({MODULE_NAME})?$", max_length=63)]


class AccessRequestView(ResponseModel):
    """A person's request for a tool, or for a whole module."""

    id: UUID = Field(description="Identifier of the access request.")
    user_id: UUID = Field(description="Identifier of the user who asks.")
    email: str = Field(description="E-mail address of the user who asks.")
    module: str = Field(description="Name of the module.")
    tool: str = Field(description="Name of the tool; empty for the whole module.")
    kind: CapabilityKind | None = Field(
        description="Kind: `tool`, `resource` or `prompt`; null for the whole module, and for what is not installed."
    )
    message: str = Field(description="Reason that the user gave.")
    state: RequestState = Field(description="State: `open`, `approved`, `declined` or `withdrawn`.")
    created_at: datetime = Field(description="Time of the request.")
    decided_at: datetime | None = Field(description="Time of the decision; null while the request is open.")
    decided_by: str = Field(description="Name of the person who decided; empty while the request is open.")
    role: str = Field(description="Name of the role into which the request was approved; empty otherwise.")
    reason: str = Field(description="Reason for which the request was declined; empty otherwise.")


class NewAccessRequest(RequestModel):
    """A request for a tool that the caller may not use."""

    module: Annotated[str, StringConstraints(pattern=MODULE_NAME_FIELD)] = Field(description="Name of the module.")
    tool: OptionalToolName = Field(default="", description="Name of the tool; empty for the whole module.")
    message: FreeText = Field(default="", description="Reason for which the tool is needed.")


class AccessApproval(RequestModel):
    """An approval of a request into a role."""

    role_id: UUID = Field(description="Identifier of the role that the user gets.")
    allow: bool = Field(
        default=False,
        description="Allow the role what is asked for, if it does not permit that yet; this holds for all its users.",
    )


class AccessRefusal(RequestModel):
    """A refusal of a request."""

    reason: FreeText = Field(default="", description="Reason, which the user reads.")


@routes.post("/access-requests", status_code=201, responses=describe_existing_response(AccessRequestView))
async def add_access_request(
    body: NewAccessRequest, caller: CurrentUserWrite, dependencies: AdminDeps, request: Request, response: Response
) -> AccessRequestView:
    """Ask for a tool.

    Repeating the request returns the open one with status 200. At most 20 requests of a person are open. A person asks,
    in a browser or at MCPist's command line.
    """
    if not is_person_at_hand(caller, request):
        raise Conflict("access is asked for by a person, in the console or after mcpist login")
    await _check_requestable(caller, dependencies, body.module, body.tool)
    made, is_new = await access_requests.create_request(
        dependencies.console, caller.actor, caller.tenant_id, caller.user_id, body.module, body.tool, body.message
    )
    if not is_new:
        response.status_code = 200
    return _describe(dependencies, made)


@routes.get("/access-requests")
async def list_access_requests(
    caller: OwnerRead,
    dependencies: AdminDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    state: Annotated[RequestState | None, Query(description="State of the requests; default all.")] = None,
    q: Annotated[ShortText, Query(description="Words that the person or the tool's name contains.")] = "",
    sort: Annotated[RequestSort, Query(description="Field to order by; with `-` the other way round.")] = "-created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[AccessRequestView]:
    """List access requests.

    Newest first unless `sort` says otherwise. Returns the caller's own; administrators can name a `user`, or list all
    of the tenant with `all_owners`. Width, case and kana do not count in `q`.
    """
    user_id = resolve_owner_filter(caller, user, all_owners)
    after = None if cursor is None else decode_cursor(cursor, TimestampKey)
    found = await access_requests.list_requests(
        dependencies.console,
        caller.tenant_id,
        user_id=user_id,
        state=state,
        words=q,
        oldest_first=sort == "created_at",
        after=after,
        limit=limit + 1,
    )
    page, next_cursor = split_page(found, limit, lambda request: (request.created_at, request.id))
    return PageOf(items=[_describe(dependencies, request) for request in page], next_cursor=next_cursor)


@routes.get("/access-requests/{request_id}")
async def show_access_request(request_id: RequestPath, caller: OwnerRead, dependencies: AdminDeps) -> AccessRequestView:
    """Get an access request.

    Users find their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_READ) else caller.user_id
    request = await access_requests.get_request(dependencies.console, caller.tenant_id, request_id, user_id=user_id)
    return _describe(dependencies, request)


@routes.delete("/access-requests/{request_id}", status_code=204)
async def withdraw_access_request(request_id: RequestPath, caller: CurrentUserWrite, console: ConsoleDatabase) -> None:
    """Withdraw an open request of the caller's own."""
    await access_requests.withdraw_request(console, caller.actor, caller.tenant_id, request_id, caller.user_id)


@routes.get("/access-requests/{request_id}/roles")
async def list_approving_roles(
    request_id: RequestPath, caller: AdminRead, dependencies: AdminDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[RoleView]:
    """List the roles that permit what is asked for.

    Highest priority first.
    """
    after = None if cursor is None else decode_cursor(cursor, tuple[PriorityKey, TextKey])
    request = await access_requests.get_request(dependencies.console, caller.tenant_id, request_id)
    found: list[roles.RoleRecord] = []
    while len(found) <= limit:
        batch = await roles.list_roles(dependencies.console, caller.tenant_id, after, 200)
        found += [record for record in batch if _permits(dependencies, _build_role(record), request)]
        if len(batch) < 200:
            break
        after = batch[-1].priority, batch[-1].name
    page, next_cursor = split_page(found[: limit + 1], limit, lambda record: (record.priority, record.name))
    return PageOf(items=[RoleView.model_validate(record) for record in page], next_cursor=next_cursor)


@routes.post("/access-requests/{request_id}/approval")
async def approve_access_request(
    request_id: RequestPath, body: AccessApproval, caller: AdminWrite, dependencies: AdminDeps
) -> AccessRequestView:
    """Approve an access request into a role.

    The user gets the role. It must permit what is asked for, or `allow` changes it.
    """
    request = await access_requests.approve_request(
        dependencies.console,
        caller.actor,
        caller.tenant_id,
        request_id,
        body.role_id,
        permits=lambda role, asked: _permits(dependencies, role, asked),
        allow=body.allow,
    )
    return _describe(dependencies, request)


@routes.post("/access-requests/{request_id}/refusal")
async def decline_access_request(
    request_id: RequestPath, body: AccessRefusal, caller: AdminWrite, dependencies: AdminDeps
) -> AccessRequestView:
    """Decline an access request."""
    request = await access_requests.decline_request(
        dependencies.console, caller.actor, caller.tenant_id, request_id, body.reason
    )
    return _describe(dependencies, request)


@routes.post("/access-requests/{request_id}/reopening")
async def reopen_access_request(
    request_id: RequestPath, caller: AdminWrite, dependencies: AdminDeps
) -> AccessRequestView:
    """Take back the decision about an access request.

    The request is open again. A role that the user got by an approval stays: take it away by `DELETE
    /users/{user_id}/roles/{role_id}`.
    """
    request = await access_requests.reopen_request(dependencies.console, caller.actor, caller.tenant_id, request_id)
    return _describe(dependencies, request)


async def _check_requestable(caller: Principal, dependencies: AdminDependencies, module: str, tool: str) -> None:
    """Check that the tenant lets people ask, and that there is something to ask for.

    Raises:
        Forbidden: the tenant does not. Where it does not show hidden tools either, an answer would tell of them.
        NotFound: there is no such tool.
        Conflict: the caller may use it already.
    """
    tenant = await get_tenant(dependencies.console, caller.tenant_id)
    if not (tenant.accepts_access_requests and tenant.shows_hidden_tools):
        raise Forbidden("this tenant takes no access requests: ask an administrator in person")
    async with dependencies.console.tenant(caller.tenant_id) as work:
        policy = await load_policy_of_user(work, caller.user_id)
    installed = dependencies.catalogue.list_modules().get(module)
    if installed is None or module not in policy.services or (tool and tool not in installed.tools):
        raise NotFound("there is no such tool")
    permitted = frozenset(dependencies.catalogue.list_permitted_tools(policy).get(module, ()))
    if {tool} <= permitted if tool else permitted >= installed.tools.keys():
        raise Conflict("you may use this already")


def _describe(dependencies: AdminDependencies, request: AccessRequest) -> AccessRequestView:
    module = dependencies.catalogue.list_modules().get(request.module)
    tool = None if module is None else module.tools.get(request.tool)
    return AccessRequestView.model_validate({**asdict(request), "kind": None if tool is None else tool.kind})


def _permits(dependencies: AdminDependencies, role: Role, request: AccessRequest) -> bool:
    """Check whether a role permits the tool, or of a whole module some tool."""
    module = dependencies.catalogue.list_modules().get(request.module)
    if module is None:
        return False
    names = [request.tool] if request.tool else list(module.tools)
    tools = [module.tools[name] for name in names if name in module.tools]
    return any(role.permits(tool.module, tool.name, tool.read_only) for tool in tools)


def _build_role(record: roles.RoleRecord) -> Role:
    return Role(record.name, record.priority, frozenset(record.allow), frozenset(record.deny))
