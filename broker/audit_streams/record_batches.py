"""Sealed audit records as the body of one request to a log collector: JSON Lines, in the order of the chain."""

from dataclasses import dataclass
from typing import Any

import orjson

from core.db import Row, UnitOfWork

MAX_RECORDS = 500
MAX_BATCH_BYTES = 1024 * 1024
"""Of stored texts in one request, beside about 600 bytes a record. A single record has at most 96 KiB and is sent alone
where it is larger than what is left."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Consecutive records of one tenant; `first` and `last` are their numbers in its chain."""

    first: int
    last: int
    records: int
    body: bytes


async def fetch_batch(work: UnitOfWork, position: int, max_records: int = MAX_RECORDS) -> RecordBatch | None:
    """Fetch the records after number `position` of the tenant's chain, as many as fit; None where there is none."""
    rows = await work.fetch(_NEXT, position, max_records, MAX_BATCH_BYTES)
    if not rows:
        return None
    body = b"".join(orjson.dumps(_build_record(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    return RecordBatch(rows[0]["seq"], rows[-1]["seq"], len(rows), body)


def _build_record(row: Row) -> dict[str, Any]:
    """Build the line of a record, with the names that the admin API gives entries. `hash` is its link in the chain."""
    return {
        "seq": row["seq"],
        "sealed_at": row["sealed_at"],
        "occurred_at": row["at"],
        "id": row["id"].hex(),
        "intent": None if row["intent"] is None else row["intent"].hex(),
        "kind": row["kind"],
        "user_id": None if row["user_id"] is None else str(row["user_id"]),
        "actor": row["actor"] or row["email"] or "",  # calls are recorded by the id of their person alone
        "credential_id": row["credential_id"],
        "client": row["client"],
        "request_id": row["request_id"],
        "module": row["module"],
        "tool": row["tool"],
        "outcome": row["outcome"],
        "duration_us": row["duration_us"],
        "arguments_digest": row["digest"].hex(),
        "arguments": None if row["arguments"] is None else row["arguments"].decode("utf-8", "replace"),
        "detail": {} if row["detail"] is None else orjson.loads(row["detail"]),
        "hash": row["hash"].hex(),
    }


_NEXT = """SELECT b.*, u.email FROM (
    SELECT n.*, row_number() OVER (ORDER BY seq) AS number,
        sum(coalesce(octet_length(arguments), 0) + coalesce(length(detail), 0)) OVER (ORDER BY seq) AS bytes
    FROM (
        SELECT seq, sealed_at, at, id, intent, kind, user_id, actor, credential_id, client, request_id, module, tool,
            outcome, duration_us, digest, arguments, detail::text AS detail, hash
        FROM audit.events WHERE tenant_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
    ) n
) b LEFT JOIN core.users u ON u.tenant_id = $1 AND u.id = b.user_id
WHERE b.number = 1 OR b.bytes <= $4 ORDER BY b.seq"""
