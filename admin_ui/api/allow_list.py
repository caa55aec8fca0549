"""``/allow-list``: whose verified address lets them sign in."""

from datetime import datetime
from typing import Annotated

from fastapi import Path

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, ResponseModel
from core.directory import allow_list

routes = create_router("allow list")

AllowListEntryPath = Annotated[
    str, Path(min_length=3, max_length=320, pattern=NO_CONTROL_CHARACTERS, description="An address, or `@domain`.")
]


class AllowListEntryView(ResponseModel):
    """An e-mail address, or `@` and a domain."""

    entry: str
    created_at: datetime


class AddedEntryView(ResponseModel):
    """The entry in the form in which it is kept."""

    entry: str


@routes.get("/allow-list")
async def list_entries(
    caller: AdminRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[AllowListEntryView]:
    """Who may sign in, in the order of letters."""
    after: str = "" if cursor is None else decode_cursor(cursor, TextKey)
    found = await allow_list.list_entries(console, caller.tenant_id, after=after, limit=limit + 1)
    shown, following = split_page(found, limit, lambda one: one.entry)
    return PageOf(items=[AllowListEntryView.model_validate(one) for one in shown], next_cursor=following)


@routes.put("/allow-list/{entry}")
async def add_entry(entry: AllowListEntryPath, caller: AdminWrite, console: ConsoleDatabase) -> AddedEntryView:
    """Let an address, or everybody of a domain, sign in; an entry that is there already stays."""
    return AddedEntryView(entry=await allow_list.add_entry(console, caller.actor, caller.tenant_id, entry))


@routes.delete("/allow-list/{entry}", status_code=204)
async def remove_entry(entry: AllowListEntryPath, caller: AdminWrite, console: ConsoleDatabase) -> None:
    """Take an entry away. Sessions and tokens that came by it go on: suspend the user to end them."""
    await allow_list.remove_entry(console, caller.actor, caller.tenant_id, entry)
