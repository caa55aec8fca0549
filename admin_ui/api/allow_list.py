"""``/allow-list``: whose verified address lets them sign in."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from fastapi import Path, Query
from pydantic import Field

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, ResponseModel, ShortText
from core.directory import allow_list
from core.directory.allow_list import EntrySearch, EntrySortKey

routes = create_router("allow list")

EntrySort = Literal["entry", "-entry", "created_at", "-created_at"]
_CURSOR_KEYS: Mapping[EntrySortKey, Any] = {"entry": tuple[TextKey, TextKey], "created_at": tuple[datetime, TextKey]}

AllowListEntryPath = Annotated[
    str,
    Path(
        min_length=3, max_length=320, pattern=NO_CONTROL_CHARACTERS, description="E-mail address, or `@` and a domain."
    ),
]


class AllowListEntryView(ResponseModel):
    """An entry of the allow list."""

    entry: str = Field(description="E-mail address, or `@` and a domain.")
    created_at: datetime = Field(description="Time at which the entry was added.")


class AddedEntryView(ResponseModel):
    """An added entry, in its normalized form."""

    entry: str = Field(description="Normalized e-mail address, or `@` and a domain.")


@routes.get("/allow-list")
async def list_entries(
    caller: AdminRead,
    console: ConsoleDatabase,
    q: Annotated[ShortText, Query(description="Words that the entry contains.")] = "",
    sort: Annotated[EntrySort, Query(description="Field to order by; with `-` the other way round.")] = "entry",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[AllowListEntryView]:
    """List the allow list.

    Verified e-mail addresses and domains that may sign in, in alphabetical order unless `sort` says otherwise.
    """
    key = cast("EntrySortKey", sort.removeprefix("-"))
    after = None if cursor is None else decode_cursor(cursor, _CURSOR_KEYS[key])
    search = EntrySearch(q, key, sort.startswith("-"))
    entries = await allow_list.list_entries(console, caller.tenant_id, search, after, limit + 1)
    page, next_cursor = split_page(entries, limit, lambda item: (getattr(item, key), item.entry))
    return PageOf(items=[AllowListEntryView.model_validate(item) for item in page], next_cursor=next_cursor)


@routes.put("/allow-list/{entry}")
async def add_entry(entry: AllowListEntryPath, caller: AdminWrite, console: ConsoleDatabase) -> AddedEntryView:
    """Allow an e-mail address or a domain to sign in.

    An existing entry stays unchanged.
    """
    return AddedEntryView(entry=await allow_list.add_entry(console, caller.actor, caller.tenant_id, entry))


@routes.delete("/allow-list/{entry}", status_code=204)
async def remove_entry(entry: AllowListEntryPath, caller: AdminWrite, console: ConsoleDatabase) -> None:
    """Remove an entry from the allow list.

    Existing sessions and tokens are not affected: suspend the user to end them.
    """
    await allow_list.remove_entry(console, caller.actor, caller.tenant_id, entry)
