"""The allow list of a tenant: users with a verified address on it, or of one of its domains, may sign in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, LiteralString
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.email_address import normalize_address, normalize_domain
from core.errors import LimitReached, NotFound
from core.word_search import build_word_filter, match_words

MAX_ALLOW_LIST_ENTRIES = 20_000
MAX_ENTRIES_PER_PAGE = 1_000

EntrySortKey = Literal["entry", "created_at"]


@dataclass(frozen=True, slots=True)
class AllowListEntry:
    """An e-mail address, or ``@`` and a domain (never its subdomains), in lower case and its domain in ASCII."""

    entry: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """All words of `text` stand in the entry."""

    text: str = ""
    sort: EntrySortKey = "entry"
    descending: bool = False


async def add_entry(console: Database, actor: Actor, tenant_id: UUID, entry: str) -> str:
    """Let an address or a domain in; one that is there already stays. The entry as it is stored.

    Raises:
        Invalid: it is neither an address nor a domain.
        LimitReached: the tenant has 20,000 entries.
    """
    entry = normalize_entry(entry)
    async with console.tenant(tenant_id) as work:
        if await work.fetchval(_COUNT) >= MAX_ALLOW_LIST_ENTRIES:
            raise LimitReached(
                f"the allow list has {MAX_ALLOW_LIST_ENTRIES} entries; a domain in their place lets all of it in"
            )
        if await insert_entry(work, entry):
            await audit_change(work, actor, AuditEventKind.ALLOW_LIST_ADDED, entry=entry)
    return entry


async def insert_entry(work: UnitOfWork, entry: str) -> bool:
    """Add a checked entry in a transaction that does something else too; whether it is new."""
    return await work.execute(_ADD, entry) == 1


async def remove_entry(console: Database, actor: Actor, tenant_id: UUID, entry: str) -> str:
    """Take an entry away: who got in by it signs in no more; sessions and tokens that they have go on.

    Raises:
        Invalid: it is neither an address nor a domain.
        NotFound: the list has no such entry.
    """
    entry = normalize_entry(entry)
    async with console.tenant(tenant_id) as work:
        if not await work.execute(_REMOVE, entry):
            raise NotFound(f"the allow list has no entry {entry}; `mcpist allow list` shows them")
        await audit_change(work, actor, AuditEventKind.ALLOW_LIST_REMOVED, entry=entry)
    return entry


async def list_entries(
    console: Database,
    tenant_id: UUID,
    search: EntrySearch = EntrySearch(),
    after: tuple[str | datetime, str] | None = None,
    limit: int = MAX_ENTRIES_PER_PAGE,
) -> list[AllowListEntry]:
    """List the tenant's entries, after the one with that value of the sort key and that text; at most 1,000 at once."""
    statement = _PAGES[search.sort, search.descending]
    most = min(limit, MAX_ENTRIES_PER_PAGE)
    async with console.tenant(tenant_id) as work:
        rows = await work.fetch(statement, *(after or (None, None)), most, *build_word_filter(search.text))
        return [AllowListEntry(*row.values()) for row in rows]


def normalize_entry(text: str) -> str:
    """Normalize an address or ``@domain`` to the form that is stored.

    Raises:
        Invalid: it is neither.
    """
    text = text.strip()
    return f"@{normalize_domain(text[1:])}" if text.startswith("@") else normalize_address(text)


def list_matching_entries(address: str) -> tuple[str, str]:
    """List the two entries that let an address in; the address is in its normal form."""
    return address, "@" + address.rpartition("@")[2]


_COUNT = "SELECT count(*) FROM core.allow_list WHERE tenant_id = $1"
_ADD = "INSERT INTO core.allow_list (tenant_id, entry) VALUES ($1, $2) ON CONFLICT DO NOTHING"
_REMOVE = "DELETE FROM core.allow_list WHERE tenant_id = $1 AND entry = $2"


def _build_page(key: LiteralString, kind: LiteralString, descending: bool) -> LiteralString:
    beyond: LiteralString = "<" if descending else ">"
    direction: LiteralString = "DESC" if descending else "ASC"
    return f"""SELECT entry, created_at FROM core.allow_list
        WHERE tenant_id = $1 AND ($2::{kind} IS NULL OR ({key}, entry) {beyond} ($2, $3::text))
          AND {match_words("entry", "$5", "$6")}
        ORDER BY {key} {direction}, entry {direction} LIMIT $4"""  # noqa: S608 our own words


_SORT_KEYS: Mapping[EntrySortKey, LiteralString] = {"entry": "text", "created_at": "timestamptz"}
_PAGES: Mapping[tuple[EntrySortKey, bool], LiteralString] = {
    (key, descending): _build_page(key, kind, descending)
    for key, kind in _SORT_KEYS.items()
    for descending in (False, True)
}
