"""Refresh tokens: one use gives the next, and the one before counts until that next one is used.

An answer may be lost on its way, and several processes of one client may share one token store: so a token stays good
until its successor has been seen in use, for a day at most, and each repetition puts a new successor in the place of
the unused one. A token whose successor was used is a copy in other hands: its grant ends (threat-model.md §3.8).
After that day a token whose successor nobody has used is over, as one that expires: it shows no copy, because whoever
holds the successor has not come, so the grant stays.

Whoever calls these functions has locked the grant's row, so no two of them run at once for one grant.
"""

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID

from core.db import Row, UnitOfWork
from core.errors import LimitReached
from core.secret import Secret
from core.token_format import BASE62_ALPHABET, SECRET_LENGTH, TOKEN_PREFIX

REFRESH_PREFIX = TOKEN_PREFIX + "refresh_"
"""Begins as API tokens do, so that what masks those in logs masks this too; it can be taken for none of them."""
REUSE_GRACE = timedelta(hours=24)
MAX_REPETITIONS = 100
"""Of one token within its grace; each leaves a row behind."""
MAX_ROTATIONS_PER_DAY = 10_000
"""Of one grant: six processes that share it, where access tokens live for a minute. Spent ones are kept."""
_FORM = re.compile(rf"{REFRESH_PREFIX}[0-9A-Za-z]{{43}}")


class RotationRefusal(Enum):
    """Reason why a token was not rotated."""

    REFUSED = "refused"
    """Nothing else follows from it."""
    REUSED = "reused"
    """Somebody holds a copy of a token that has been used up: the grant must end."""


def hash_refresh_token(token: Secret) -> bytes | None:
    """Return the stored hash of a refresh token; None for a text that is not one of ours."""
    text = token.reveal()
    return hashlib.sha256(text.encode()).digest() if _FORM.fullmatch(text) else None


async def create_first_token(work: UnitOfWork, grant_id: UUID, now: datetime, expires_at: datetime) -> Secret:
    """The first token of a grant."""
    return await _create_token(work, grant_id, None, now, expires_at)


async def rotate_token(
    work: UnitOfWork, token_hash: bytes, now: datetime, expires_at: datetime
) -> Secret | RotationRefusal:
    """Use a token: its successor, which lives until `expires_at`, or why there is none.

    Raises:
        LimitReached: the grant has had too many tokens within a day; this one stays as it is.
    """
    row = await work.fetchrow(_FIND, token_hash)
    if row is None:
        return RotationRefusal.REFUSED
    unusable = await _find_refusal(work, row, token_hash, now)
    if unusable is not None:
        return unusable
    if (
        await work.fetchval(_RECENT, row["grant_id"], now - timedelta(days=1), MAX_ROTATIONS_PER_DAY)
        >= MAX_ROTATIONS_PER_DAY
    ):
        raise LimitReached("too many refresh requests; use an access token until it expires", 3600.0)
    if row["state"] == "live":
        await work.execute(_USED, token_hash, now)
        await work.execute(_SPENT, row["parent_hash"])
    else:
        await work.execute(_REPLACED, row["grant_id"], token_hash)
    return await _create_token(work, row["grant_id"], token_hash, now, expires_at)


async def _find_refusal(work: UnitOfWork, row: Row, token_hash: bytes, now: datetime) -> RotationRefusal | None:
    match row["state"]:
        case "live":
            return RotationRefusal.REFUSED if row["expires_at"] <= now else None
        case "previous":
            # Counted from the first use, so repeating does not prolong it.
            if now - row["used_at"] > REUSE_GRACE:
                return RotationRefusal.REFUSED
            crowded = await work.fetchval(_REPETITIONS, row["grant_id"], token_hash) >= MAX_REPETITIONS
            return RotationRefusal.REFUSED if crowded else None
        case "replaced":
            return RotationRefusal.REFUSED
        case _:
            return RotationRefusal.REUSED


async def _create_token(
    work: UnitOfWork, grant_id: UUID, parent: bytes | None, now: datetime, expires_at: datetime
) -> Secret:
    token = Secret(REFRESH_PREFIX + "".join(secrets.choice(BASE62_ALPHABET) for _ in range(SECRET_LENGTH)))
    await work.execute(_INSERT, hash_refresh_token(token), grant_id, parent, now, expires_at)
    return token


_FIND = """SELECT grant_id, state, parent_hash, expires_at, used_at FROM auth.refresh_tokens
    WHERE tenant_id = $1 AND hash = $2"""
_RECENT = """SELECT count(*) FROM (SELECT FROM auth.refresh_tokens
    WHERE tenant_id = $1 AND grant_id = $2 AND created_at > $3 LIMIT $4) AS recent"""
_INSERT = """INSERT INTO auth.refresh_tokens (tenant_id, hash, grant_id, parent_hash, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6)"""
_USED = """UPDATE auth.refresh_tokens SET state = 'previous', used_at = $3
    WHERE tenant_id = $1 AND hash = $2 AND state = 'live'"""
_SPENT = "UPDATE auth.refresh_tokens SET state = 'spent' WHERE tenant_id = $1 AND hash = $2 AND state = 'previous'"
_REPLACED = """UPDATE auth.refresh_tokens SET state = 'replaced'
    WHERE tenant_id = $1 AND grant_id = $2 AND parent_hash = $3 AND state = 'live'"""
_REPETITIONS = """SELECT count(*) FROM auth.refresh_tokens
    WHERE tenant_id = $1 AND grant_id = $2 AND parent_hash = $3 AND state = 'replaced'"""
