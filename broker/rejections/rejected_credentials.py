"""A credential that a vendor has refused, as it is asked about again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.connections.account_snapshot import ACCESS_FIELD, build_account_context
from broker.refresh import reauth
from broker.refresh.decision import REVOKED
from broker.rejections.report import RejectionTiming
from broker.vault.credential_store import REJECTED, UNREADABLE, decode_scheme, decrypt_credential, mark_broken
from broker.vault.envelope import DecryptionError
from broker.vault.origin_policy import OriginPolicy, read_attributes
from broker.vault.vault import Vault
from core.db import Row, UnitOfWork
from core.http.credential_headers import CredentialScheme
from core.secret import Secret


@dataclass(frozen=True, slots=True)
class RejectedCredential:
    """One question. `version` is that of the key (type A) or of the account (type B) that was refused; `since` are the
    seconds since it was refused first; `broken` says that its owner was told to replace it already."""

    id: UUID
    module: str
    type: Literal["A", "B"]
    account_id: UUID | None
    version: int
    endpoint: str
    secret: Secret = field(repr=False)
    scheme: CredentialScheme
    origins: tuple[str, ...]
    attributes: Mapping[str, str]
    rechecks: int
    seconds_rejected: float
    broken: bool


async def claim_recheck(
    work: UnitOfWork, vault: Vault, credential_id: UUID, base_urls: Mapping[str, str], timing: RejectionTiming
) -> tuple[RejectedCredential, Mapping[str, Any]] | None:
    """The question about a credential, with its service's settings; None where another process asks it, or there is
    none any more."""
    if not await work.execute(_CLAIM, credential_id, timing.claim_timeout):
        return None
    row = await work.fetchrow(_SUSPECT, credential_id)
    if row is None or not _is_current(row):
        await work.execute(_FORGET, credential_id)
        return None
    settings: Mapping[str, Any] = orjson.loads(row["settings"])
    bounds = OriginPolicy(base_urls)
    if bounds.is_origin_changed(row["module"], row["origins"], settings):
        await work.execute(_FORGET, credential_id)  # its owner is told of that in another way
        return None
    try:
        secret = await _decrypt_secret(work, vault, row)
    except DecryptionError:
        await _mark_unreadable(work, row)
        return None
    origins = bounds.get_origins(row["module"], row["origins"])
    return _build_rejected_credential(row, secret, origins), settings


def _build_rejected_credential(row: Row, secret: Secret, origins: tuple[str, ...]) -> RejectedCredential:
    return RejectedCredential(
        id=row["id"],
        module=row["module"],
        type=row["type"],
        account_id=row["account_id"],
        version=row["rejected_version"],
        endpoint=row["endpoint"],
        secret=secret,
        scheme=decode_scheme(row["scheme"]),
        origins=origins,
        attributes=read_attributes(row["details"]),
        rechecks=row["rechecks"],
        seconds_rejected=row["since"],
        broken=row["state"] == "broken" or row["status"] == "needs_reauth",
    )


def _is_current(row: Row) -> bool:
    """Check whether the row is the rejected version, and still in doubt or broken because of the rejection."""
    if row["type"] == "A":
        in_place = row["state"] == "ok" or row["cause"] == REJECTED
        return in_place and row["version"] == row["rejected_version"]
    in_place = row["status"] == "active" or (row["status"] == "needs_reauth" and row["reason"] == REVOKED)
    same = row["account_version"] == row["rejected_version"]
    return in_place and same and row["access"] is not None and row["refresh"] is None


async def _decrypt_secret(work: UnitOfWork, vault: Vault, row: Row) -> Secret:
    if row["type"] == "A":
        return await decrypt_credential(vault, work, row)
    place = build_account_context(row["account_id"], ACCESS_FIELD, row["account_version"])
    return Secret((await vault.open(work, place, row["access"])).decode())


async def _mark_unreadable(work: UnitOfWork, row: Row) -> None:
    await work.execute(_FORGET, row["id"])
    if row["type"] == "A":
        await mark_broken(work, row["id"], row["version"], UNREADABLE, row["now"])
    else:
        await reauth.mark_needs_reauth(work, row["account_id"], row["account_version"], UNREADABLE)


_CLAIM = """UPDATE vault.credentials SET recheck_at = vault.clock() + make_interval(secs => $3)
    WHERE tenant_id = $1 AND id = $2 AND recheck_at <= vault.clock()"""
_SUSPECT = """SELECT c.id, c.module, c.type, c.account_id, c.version, c.secret, c.state, c.cause, c.scheme, c.origins,
    c.endpoint, c.rejected_version, c.rechecks, k.now,
    extract(epoch FROM k.now - coalesce(c.rejected_at, k.now))::float8 AS since,
    a.version AS account_version, a.access, a.refresh, a.status, a.reason,
    coalesce(a.details, '{}'::jsonb) AS details, s.settings
    FROM (SELECT vault.clock() AS now) k, vault.credentials c
    JOIN core.services s ON s.tenant_id = c.tenant_id AND s.module = c.module
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    WHERE c.tenant_id = $1 AND c.id = $2"""
_FORGET = """UPDATE vault.credentials SET rejected_version = NULL, rejected_at = NULL, rejected_last = NULL,
    recheck_at = NULL, rechecks = 0, held_back = false WHERE tenant_id = $1 AND id = $2"""
