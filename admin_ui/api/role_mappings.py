"""``/role-mappings``: which roles people have by their groups and e-mail domains."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field, StringConstraints

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel, ShortText
from core.api.sorted_lists import SortedList, SortKey, fold_key
from core.directory import role_mappings

routes = create_router("roles")

MappingSort = Literal["created_at", "-created_at", "value", "-value", "role", "-role"]
MappingPath = Annotated[UUID, Path(description="Identifier of the mapping.")]
MappingValue = Annotated[str, StringConstraints(min_length=1, max_length=320, pattern=NO_CONTROL_CHARACTERS)]


class RoleMappingView(ResponseModel):
    """A mapping of a group or a domain to a role."""

    id: UUID = Field(description="Identifier of the mapping.")
    kind: Literal["group", "domain"] = Field(description="Kind of the mapping.")
    provider: str = Field(
        description="Identifier of the identity provider whose group it is, or `scim`; empty for a domain."
    )
    value: str = Field(description="Name of the group as the provider sends it, or domain.")
    role_id: UUID = Field(description="Identifier of the role.")
    role: str = Field(description="Name of the role.")
    created_at: datetime = Field(description="Time of creation.")


class RoleMappingCreate(RequestModel):
    """A mapping to add."""

    kind: Literal["group", "domain"] = Field(description="Kind of the mapping.")
    provider: Annotated[str, StringConstraints(pattern=r"^(?:|[a-z0-9][a-z0-9-]{0,39})$")] = Field(
        default="",
        description="Identifier of the identity provider whose group it is, or `scim` for provisioned groups; required "
        "for a group.",
    )
    value: MappingValue = Field(description="Name of the group as the provider sends it, or domain.")
    role_id: UUID = Field(description="Identifier of the role.")


_MAPPINGS = SortedList[role_mappings.RoleMapping](
    lambda mapping: f"{mapping.value} {mapping.role} {mapping.provider}",
    lambda mapping: str(mapping.id),
    {
        "created_at": SortKey(lambda mapping: mapping.created_at, datetime),
        "value": SortKey(lambda mapping: fold_key(mapping.value)),
        "role": SortKey(lambda mapping: fold_key(mapping.role)),
    },
)


@routes.get("/role-mappings")
async def list_mappings(
    caller: AdminRead,
    console: ConsoleDatabase,
    q: Annotated[ShortText, Query(description="Words that the group, domain, role or provider contains.")] = "",
    sort: Annotated[MappingSort, Query(description="Field to order by; with `-` the other way round.")] = "created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[RoleMappingView]:
    """List role mappings.

    Oldest first, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    found = await role_mappings.list_role_mappings(console, caller.tenant_id)
    page, following = _MAPPINGS.select_page(found, q, sort, limit, cursor)
    return PageOf(items=[RoleMappingView.model_validate(mapping) for mapping in page], next_cursor=following)


@routes.post("/role-mappings", status_code=201, responses=describe_existing_response(RoleMappingView))
async def add_mapping(
    body: RoleMappingCreate, caller: AdminWrite, console: ConsoleDatabase, response: Response
) -> RoleMappingView:
    """Map a group or a domain to a role.

    It counts from each person's next sign-in or provisioning on. It never takes away a role that was assigned by hand.
    """
    mapping, is_new = await role_mappings.add_role_mapping(
        console, caller.actor, caller.tenant_id, body.kind, body.provider, body.value, body.role_id
    )
    response.status_code = 201 if is_new else 200
    return RoleMappingView.model_validate(mapping)


@routes.delete("/role-mappings/{mapping_id}", status_code=204)
async def remove_mapping(mapping_id: MappingPath, caller: AdminWrite, console: ConsoleDatabase) -> None:
    """Remove a role mapping.

    Roles that people have from it end at their next sign-in or provisioning.
    """
    await role_mappings.remove_role_mapping(console, caller.actor, caller.tenant_id, mapping_id)
