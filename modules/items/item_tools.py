"""Tools for single items, with the names and parameters of their document."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

from pydantic import Field

from modules.items.errors import DENIED
from modules.items.item_dates import ItemDate
from modules.items.item_keys import ItemKey, parse_id
from modules.items.item_rows import build_item, build_replaced, collect_fields, find_item
from modules.items.item_store import ItemWriter, NewItem, check_revision, find_user_name
from modules.items.meaning_index import forget_items, index_written
from modules.items.models import (
    ChangedType,
    ContentText,
    DeletedItem,
    DescriptionText,
    ExpectedRevision,
    IdValue,
    Item,
    ItemChanges,
    Label,
    Priority,
    RelatedKeys,
    SavedItem,
    StatusName,
    TagNames,
    TitleText,
    TypeParameter,
    WorkspaceParameter,
)
from modules.items.read_cache import READ_CACHE
from modules.items.settings import ItemSettings
from modules.items.workspaces import Workspace, find_workspace, lock_workspace
from modules.kit import Context, DocumentedError, Hints, Store, tool
from modules.kit.parameters import OptionalParameter

READ = "items:read"
WRITE = "items:write"

READ_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
ADD_HINTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
CHANGE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)
ACTION_HINTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=False)

IdParameter = Annotated[IdValue, Field(description="Number, or type-number such as task-7")]
OptionalDate = OptionalParameter[ItemDate]
NewTitle = Annotated[OptionalParameter[TitleText], Field(description="New title")]
NewDescription = Annotated[OptionalParameter[DescriptionText], Field(description="New description")]
NewContent = Annotated[OptionalParameter[ContentText], Field(description="New content")]
Status = Annotated[OptionalParameter[StatusName], Field(description="Such as In Progress or Completed")]
PriorityChange = Annotated[OptionalParameter[Priority], Field(description="New priority")]
Category = Annotated[OptionalParameter[Label], Field(description="Category; empty for none")]
StartDate = Annotated[OptionalDate, Field(description="YYYY-MM-DD, or with a time; empty for none")]
EndDate = Annotated[OptionalDate, Field(description="YYYY-MM-DD, or with a time; empty for none")]
Version = Annotated[OptionalParameter[Label], Field(description="Version; empty for none")]
RelatedChange = Annotated[OptionalParameter[RelatedKeys], Field(description="Keys such as task-7, in place of all")]
TagsChange = Annotated[OptionalParameter[TagNames], Field(description="Tags, in place of all")]


NamedItem = tuple[ItemKey, int | str]
"""The key of an item, and its id as it was given."""


@asynccontextmanager
async def open_writer(
    context: Context, workspace: str | None, named: NamedItem | None = None
) -> AsyncGenerator[tuple[Store, Workspace, ItemWriter]]:
    """Open a transaction that writes items of a workspace, which nobody else changes meanwhile. `named` is the item
    that is to change, if it is one: where it does not exist, nothing is said of the right to change it.

    Raises:
        DocumentedError: the caller may read no such workspace, or not change it.
    """
    settings = await context.get_settings(ItemSettings)
    async with context.store() as store:
        try:
            locked = await lock_workspace(store, workspace)
        except DocumentedError as error:
            if named is not None and error.kind == DENIED:
                await find_item(store, await find_workspace(store, workspace), *named)
            raise
        name = await find_user_name(store)
        yield store, locked, ItemWriter(store, locked, context.user_id, name, settings.max_items)


@tool(hints=ADD_HINTS, scopes=[WRITE], keywords="add, new, task, issue, note, 追加, 作成, タスク")
async def create_item(
    context: Context,
    type: TypeParameter,
    title: Annotated[TitleText, Field(description="Title")],
    description: Annotated[DescriptionText, Field(description="One or two sentences")] = "",
    content: Annotated[ContentText, Field(description="Markdown")] = "",
    status: Annotated[OptionalParameter[StatusName], Field(description="Open without it")] = None,
    priority: Annotated[Priority, Field(description="Priority")] = Priority.MEDIUM,
    category: Category = None,
    start_date: StartDate = None,
    end_date: EndDate = None,
    version: Version = None,
    related: Annotated[RelatedKeys, Field(description="Keys of related items, such as task-7")] = [],  # noqa: B006 - pydantic copies it
    tags: Annotated[TagNames, Field(description="Tags")] = [],  # noqa: B006 - the same
    workspace: WorkspaceParameter = None,
) -> Item:
    """Create an item of any type."""
    new = NewItem(
        type=type,
        title=title,
        description=description,
        content=content,
        status=status,
        priority=priority.value,
        category=category,
        start_date=start_date or None,
        end_date=end_date or None,
        version=version,
        related=related,
        tags=tags,
    )
    async with open_writer(context, workspace) as (_, found, writer):
        created = await writer.create(new)
    await index_written(context, found, [created.id])
    return build_item(created, found)


@tool(hints=READ_HINTS, scopes=[READ], keywords="read, show, 表示, 詳細")
async def get_item_detail(
    context: Context, type: TypeParameter, id: IdParameter, workspace: WorkspaceParameter = None
) -> Item:
    """Get an item with its content and the keys of its related items."""
    key = parse_id(type, id)

    async def read(store: Store, found: Workspace | None) -> Item:
        record = await find_item(store, found, key, id)
        assert found is not None, "an item was found in it"
        return build_item(record, found)

    return await READ_CACHE.read(context, workspace, "get_item_detail", key, read)


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="edit, change, close, done, 更新, 変更, 完了")
async def update_item(
    context: Context,
    type: TypeParameter,
    id: IdParameter,
    title: NewTitle = None,
    description: NewDescription = None,
    content: NewContent = None,
    status: Status = None,
    priority: PriorityChange = None,
    category: Category = None,
    start_date: StartDate = None,
    end_date: EndDate = None,
    version: Version = None,
    related: RelatedChange = None,
    tags: TagsChange = None,
    expected_revision: ExpectedRevision = None,
    workspace: WorkspaceParameter = None,
) -> SavedItem:
    """Change an item; what is not given stays as it is."""
    changes = ItemChanges.model_construct(
        title=title,
        description=description,
        content=content,
        status=status,
        priority=priority,
        category=category,
        start_date=start_date,
        end_date=end_date,
        version=version,
        related=related,
        tags=tags,
    )
    key = parse_id(type, id)
    async with open_writer(context, workspace, (key, id)) as (store, found, writer):
        before = await find_item(store, found, key, id)
        check_revision(before, expected_revision)
        after = await writer.update(await writer.merge(before, changes))
    await index_written(context, found, [after.id])
    replaced = build_replaced(before, context.user_id, expected_revision)
    return SavedItem(**collect_fields(after, found), replaced=replaced)


@tool(hints=ACTION_HINTS, scopes=[WRITE], keywords="remove")
async def delete_item(
    context: Context,
    type: TypeParameter,
    id: IdParameter,
    expected_revision: ExpectedRevision = None,
    workspace: WorkspaceParameter = None,
) -> DeletedItem:
    """Delete an item with its relations."""
    key = parse_id(type, id)
    async with open_writer(context, workspace, (key, id)) as (store, found, writer):
        before = await find_item(store, found, key, id)
        check_revision(before, expected_revision)
        await writer.delete(before)
    await forget_items(context, found, [before.id])
    replaced = build_replaced(before, context.user_id, expected_revision)
    return DeletedItem(deleted=True, key=str(before.key), title=before.title, replaced=replaced)


@tool(hints=ACTION_HINTS, scopes=[WRITE], keywords="move, convert, 種類, 変換")
async def change_item_type(
    context: Context,
    from_type: Annotated[TypeParameter, Field(description="Type until now")],
    from_id: IdParameter,
    to_type: Annotated[TypeParameter, Field(description="New type")],
    expected_revision: ExpectedRevision = None,
    workspace: WorkspaceParameter = None,
) -> ChangedType:
    """Give an item another type, and with it a new id. Relations follow, and the former id still leads to it."""
    key = parse_id(from_type, from_id, "from_id")
    async with open_writer(context, workspace, (key, from_id)) as (store, found, writer):
        before = await find_item(store, found, key, from_id)
        check_revision(before, expected_revision)
        after = before if before.type == to_type else await writer.change_type(before, to_type)
    await index_written(context, found, [after.id])
    replaced = build_replaced(before, context.user_id, expected_revision)
    return ChangedType(**collect_fields(after, found), replaced=replaced, previous_key=str(before.key))


ITEM_TOOLS = (create_item, get_item_detail, update_item, delete_item, change_item_type)
