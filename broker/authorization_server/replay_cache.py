"""Replay cache of single-use values, such as assertion ids (RFC 7523 §3, rule 7), shared by all processes.

Only hashes are stored.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

from core.db import Database

RETENTION = timedelta(hours=1)


class ReplayCache:
    """Takes ids for good, until they would not be accepted anyway."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def take(self, kind: str, value: str, expires_at: datetime) -> bool:
        """Record `value` as used; return True for exactly one caller and False for every later one.

        An expired entry counts as used, because its record may have been deleted.

        Raises:
            core.errors.Unavailable: the database is away, so nothing can be given out.
        """
        if expires_at <= self._clock():
            return False
        hashed = hashlib.sha256(f"{kind}\0{value}".encode(errors="surrogatepass")).digest()
        return await self._database.call(_TAKE, hashed, expires_at) is not None

    async def sweep(self) -> int:
        """Forget what has expired for an hour, by whichever broker's clock; how many."""
        return await self._database.call(_SWEEP, self._clock() - RETENTION)


_TAKE = """INSERT INTO auth.used_ids (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING true"""
_SWEEP = """WITH gone AS (DELETE FROM auth.used_ids WHERE expires_at <= $1 RETURNING 1) SELECT count(*) FROM gone"""
