"""``/allow-list``: whose verified address lets them sign in."""

from datetime import datetime
from typing import Annotated

from fastapi import Path

from admin_ui.api.parts import Console
from core.api.app import router
from core.api.callers import ChangingAdmin, ReadingAdmin
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.shapes import PLAIN, PageOf, Told
from core.directory import allow_list

routes = router("allow list")

Entry = Annotated[str, Path(min_length=3, max_length=320, pattern=PLAIN, description="An address, or `@domain`.")]


class EntryView(Told):
    """An e-mail address, or `@` and a domain."""

    entry: str
    created_at: datetime


class EntryAdded(Told):
    """The entry in the form in which it is kept."""

    entry: str


@routes.get("/allow-list")
async def list_entries(
    caller: ReadingAdmin, console: Console, limit: Most = 50, cursor: Cursor = None
) -> PageOf[EntryView]:
    """Who may sign in, in the order of letters."""
    after: str = "" if cursor is None else key_of(cursor, TextKey)
    found = await allow_list.list_entries(console, caller.tenant_id, after=after, limit=limit + 1)
    shown, following = paged(found, limit, lambda one: one.entry)
    return PageOf(items=[EntryView.model_validate(one) for one in shown], next_cursor=following)


@routes.put("/allow-list/{entry}")
async def add_entry(entry: Entry, caller: ChangingAdmin, console: Console) -> EntryAdded:
    """Let an address, or everybody of a domain, sign in; an entry that is there already stays."""
    return EntryAdded(entry=await allow_list.add_entry(console, caller.actor, caller.tenant_id, entry))


@routes.delete("/allow-list/{entry}", status_code=204)
async def remove_entry(entry: Entry, caller: ChangingAdmin, console: Console) -> None:
    """Take an entry away. Sessions and tokens that came by it go on: suspend the user to end them."""
    await allow_list.remove_entry(console, caller.actor, caller.tenant_id, entry)
