"""Tools for workspaces: one's own, a role's, or the tenant's."""

from typing import Annotated

from pydantic import AfterValidator, Field

from modules.items import workspaces
from modules.items.item_tools import ACTION_HINTS, CHANGE_HINTS, READ, READ_HINTS, WRITE
from modules.items.meaning_index import drop_index, prepare_index
from modules.items.models import (
    MAX_LABEL_LENGTH,
    DeletedWorkspace,
    ListedWorkspace,
    TagName,
    WorkspaceList,
    WorkspaceName,
    check_storable,
)
from modules.items.workspaces import Workspace
from modules.kit import CollectionOwner, Context, Hints, tool

NamedWorkspace = Annotated[WorkspaceName, Field(description="Name or id of the workspace")]
CREATE_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)


@tool(hints=READ_HINTS, scopes=[READ], keywords="projects, boards, shared, ワークスペース, プロジェクト")
async def list_workspaces(context: Context) -> WorkspaceList:
    """List the workspaces of items that you may read."""
    async with context.store() as store:
        found = await workspaces.list_workspaces(store)
    return WorkspaceList(workspaces=[_build_listed(one) for one in found])


@tool(hints=CREATE_HINTS, scopes=[WRITE], keywords="project, board, share, ワークスペース, プロジェクト, 共有")
async def create_workspace(
    context: Context,
    name: Annotated[TagName, Field(description="Name, without slash and colon")],
    owner: Annotated[
        CollectionOwner, Field(description="Who reads it: you, the members of a role, or everybody of your company")
    ] = CollectionOwner.USER,
    role: Annotated[
        str,
        Field(max_length=MAX_LABEL_LENGTH, description="Name of the role, where a role owns it"),
        AfterValidator(check_storable),
    ] = "",
    member_writes: Annotated[bool, Field(description="Whether all who read a shared one may change it")] = True,
) -> ListedWorkspace:
    """Create a workspace, or return the one of this name. Only administrators create shared ones."""
    async with context.store() as store:
        created = await workspaces.create_workspace(store, name, owner, role, member_writes=member_writes)
    await prepare_index(context, created)
    return _build_listed(created)


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="title, 名前, 改名")
async def rename_workspace(
    context: Context,
    workspace: NamedWorkspace,
    name: Annotated[TagName, Field(description="New name, without slash and colon")],
) -> ListedWorkspace:
    """Give a workspace another name; what is in it stays. Only administrators rename shared ones."""
    async with context.store() as store:
        found = await workspaces.require_workspace(store, workspace)
        renamed = await workspaces.rename_workspace(store, found, name)
    return _build_listed(renamed)


@tool(hints=ACTION_HINTS, scopes=[WRITE], keywords="remove")
async def delete_workspace(
    context: Context,
    workspace: NamedWorkspace,
) -> DeletedWorkspace:
    """Delete a workspace with all of its items and states. Only administrators delete shared ones."""
    async with context.store() as store:
        found = await workspaces.require_workspace(store, workspace)
        items = await workspaces.remove_workspace(store, found)
    await drop_index(context, found)
    return DeletedWorkspace(name=found.full_name, items=items)


WORKSPACE_TOOLS = (list_workspaces, create_workspace, rename_workspace, delete_workspace)


def _build_listed(found: Workspace) -> ListedWorkspace:
    return ListedWorkspace(
        name=found.full_name,
        id=str(found.id),
        owner=found.owner.value,
        role=found.role or None,
        can_write=found.can_write,
        items=found.items,
    )
