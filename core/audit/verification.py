"""Check a tenant's chain: an edited, removed, added or swapped event, a cut tail, a head that was put back.

Whoever may do anything to the database can also compute a new chain: only heads that are kept elsewhere
(:func:`anchors`) show that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from core.audit.chain import GENESIS_HASH, SealedEvent, build_fields, hash_fields
from core.audit.slices import SLICE_RECORDS, split_into_slices
from core.audit.truncation import to_microseconds
from core.concurrency.cooperative_steps import wait_for_turn
from core.db import Database, Row, UnitOfWork

VERIFY_BATCH_SIZE = 16 * SLICE_RECORDS
"""Events a transaction."""

_HEAD = """SELECT h.seq, h.hash, h.base_seq, h.base_hash,
        (SELECT max(e.seq) FROM audit.events e WHERE e.tenant_id = $1) AS newest,
        (SELECT e.seq - 1 FROM audit.events e WHERE e.tenant_id = $1 AND e.sealed_at >= $2::timestamptz
            ORDER BY e.seq LIMIT 1) AS before
    FROM audit.heads h WHERE h.tenant_id = $1"""
_ANY = "SELECT min(seq) FROM audit.events WHERE tenant_id = $1"
_HASH = "SELECT hash FROM audit.events WHERE tenant_id = $1 AND seq = $2"
_EVENTS = """SELECT tenant_id, seq, sealed_at, at, id, intent, kind, user_id, credential_id, client, request_id,
        module, tool, outcome, duration_us, digest, arguments, detail, actor, hash
    FROM audit.events WHERE tenant_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4"""


@dataclass(frozen=True, slots=True)
class ChainAnchor:
    """The newest event of a tenant's chain at some time: number and hash."""

    tenant_id: UUID
    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class ChainVerification:
    """`ok`, or the number of the first event that is wrong and what is wrong with it; `checked` events were read."""

    tenant_id: UUID
    checked: int
    head: ChainAnchor | None
    first_bad: int | None = None
    problem: str = ""
    position: ChainAnchor | None = None
    """The last event that was checked; before the head, where it was asked for less than all."""

    @property
    def complete(self) -> bool:
        """True if the verification has come to the head of the chain, or to a problem."""
        return not self.ok or self.head is None or self.position is None or self.position.seq >= self.head.seq

    @property
    def ok(self) -> bool:
        """True if the verification found no problem."""
        return self.first_bad is None


class _ChainBroken(Exception):
    """Found: the number of the event, and what is wrong."""

    def __init__(self, seq: int, problem: str) -> None:
        super().__init__(problem)
        self.seq = seq
        self.problem = problem


class _ChainWalk:
    """The state of one check."""

    def __init__(self, tenant_id: UUID, expected: dict[int, bytes]) -> None:
        self.tenant_id = tenant_id
        self.expected = expected
        self.head: ChainAnchor | None = None
        self.seq = 0
        self.hash = GENESIS_HASH
        self.checked = 0

    def step(self, row: Row) -> None:
        if row["seq"] != self.seq + 1:
            raise _ChainBroken(self.seq + 1, "the event is missing")
        if _hash_row(self.hash, row) != row["hash"]:
            raise _ChainBroken(row["seq"], "the event, or the one before it, was changed")
        self.seq, self.hash = row["seq"], row["hash"]
        self.checked += 1
        self.compare()

    def compare(self) -> None:
        """Check that the anchor of this number, if one was given, has this hash."""
        if self.expected.pop(self.seq, self.hash) != self.hash:
            raise _ChainBroken(self.seq, "the event differs from the anchor")


async def list_anchors(database: Database) -> list[ChainAnchor]:
    """Return the head of every tenant's chain, to be kept out of reach of those who can change the database.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    rows = await database.lookup("deployment", "list", "SELECT tenant, newest, newest_hash FROM audit.anchors()")
    return [ChainAnchor(row["tenant"], row["newest"], row["newest_hash"]) for row in rows]


async def verify_chain(
    database: Database,
    tenant_id: UUID,
    since: datetime | None = None,
    *,
    against: Sequence[ChainAnchor] = (),
    start: ChainAnchor | None = None,
    max_events: int | None = None,
) -> ChainVerification:
    """Walk the chain (from the first event sealed at or after `since`) to its head, and through the given anchors.

    `start` is the position of a verification that goes on here, whose hash is believed; at most `max_events` are
    checked, to the next batch.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    walk = _ChainWalk(tenant_id, {anchor.seq: anchor.hash for anchor in against if anchor.tenant_id == tenant_id})
    try:
        async with database.tenant(tenant_id) as work:
            await _start(work, walk, since)
        if start is not None and start.seq > walk.seq:
            walk.seq, walk.hash = start.seq, start.hash
        while walk.head and walk.seq < walk.head.seq and (max_events is None or walk.checked < max_events):
            async with database.tenant(tenant_id) as work:  # one short transaction a batch: nothing waits for us
                await _advance(work, walk)
        if walk.head is None or walk.seq >= walk.head.seq:
            _finish(walk)
    except _ChainBroken as broken:
        return ChainVerification(tenant_id, walk.checked, walk.head, broken.seq, broken.problem)
    return ChainVerification(tenant_id, walk.checked, walk.head, position=ChainAnchor(tenant_id, walk.seq, walk.hash))


async def _start(work: UnitOfWork, walk: _ChainWalk, since: datetime | None) -> None:
    row = await work.fetchrow(_HEAD, since)
    if row is None:
        if (first := await work.fetchval(_ANY)) is not None:
            raise _ChainBroken(first, "the chain has events and no head")
        return
    walk.head = ChainAnchor(work.tenant_id, row["seq"], row["hash"])
    walk.seq, walk.hash = row["base_seq"], row["base_hash"]
    newest = walk.seq if row["newest"] is None else row["newest"]
    if newest > row["seq"]:
        raise _ChainBroken(row["seq"] + 1, "the event is newer than the head")
    if since is not None:
        await _skip(work, walk, newest if row["before"] is None else row["before"])
    for seq in [seq for seq in walk.expected if seq < walk.seq]:
        del walk.expected[seq]  # dropped by retention, or before `since`
    walk.compare()


async def _skip(work: UnitOfWork, walk: _ChainWalk, seq: int) -> None:
    """Begin after event `seq`, whose own hash is believed."""
    if seq <= walk.seq:
        return
    stored_hash = await work.fetchval(_HASH, seq)
    if stored_hash is None:
        raise _ChainBroken(seq, "the event is missing")
    walk.seq, walk.hash = seq, stored_hash


async def _advance(work: UnitOfWork, walk: _ChainWalk) -> None:
    """Walk on by at most ``VERIFY_BATCH_SIZE`` events, each slice of them in a turn of the event loop of its own."""
    assert walk.head is not None
    end = walk.seq + VERIFY_BATCH_SIZE
    while walk.seq < min(end, walk.head.seq):
        rows = await work.fetch(_EVENTS, walk.seq, walk.head.seq, SLICE_RECORDS)
        if not rows:
            raise _ChainBroken(walk.seq + 1, "the end of the chain is missing")
        for part, size in split_into_slices(rows, _measure_row):
            await wait_for_turn(size)
            for row in part:
                walk.step(row)


def _measure_row(row: Row) -> int:
    return len(row["arguments"] or b"")


def _finish(walk: _ChainWalk) -> None:
    if walk.head is not None and walk.hash != walk.head.hash:
        raise _ChainBroken(walk.head.seq, "the event differs from the head")
    if walk.expected:
        raise _ChainBroken(min(walk.expected), "the anchored event is missing")


def _hash_row(previous: bytes, row: Row) -> bytes | None:
    try:
        return hash_fields(previous, build_fields(_to_sealed_event(row)))
    except (TypeError, ValueError, OverflowError):
        return None  # only a changed row holds what cannot be sealed, such as an infinite time


def _to_sealed_event(row: Row) -> SealedEvent:
    """Convert a row of `audit.events`; raises TypeError for an infinite time."""
    detail = row["detail"]
    values = {name: row[name] for name in SealedEvent._fields}
    values["sealed_at"], values["at"] = to_microseconds(row["sealed_at"]), to_microseconds(row["at"])
    values["detail"] = None if detail is None else msgspec.json.decode(detail)
    return SealedEvent(**values)
