"""The signing keys as rows that a key-encryption key seals by itself."""

from collections.abc import Sequence
from uuid import UUID

from broker.authorization_server.signing_key_store import build_signing_context
from broker.vault.key_rewrap import WrappedRow
from broker.vault.key_wrapping import WrappedKey
from core.audit.event import DEPLOYMENT_CHAIN
from core.db import UnitOfWork


class SigningKeyRows:
    """Implements :class:`broker.vault.key_rewrap.WrappedRows`. Old and distrusted keys are kept and rewrapped too."""

    def __init__(self, deployment_id: UUID) -> None:
        self._deployment_id = deployment_id

    @property
    def tenant_id(self) -> UUID:
        return DEPLOYMENT_CHAIN

    async def list_outdated(self, work: UnitOfWork, kek_id: str, after: str, limit: int) -> Sequence[WrappedRow]:
        rows = await work.fetch(_OTHERS, kek_id, after, limit)
        return [
            WrappedRow(
                row["kid"], row["kek_id"], row["wrapped"], build_signing_context(self._deployment_id, row["kid"])
            )
            for row in rows
        ]

    async def store(self, work: UnitOfWork, row: WrappedRow, wrapped: WrappedKey) -> bool:
        return bool(await work.execute(_STORE, row.name, row.kek_id, row.wrapped, wrapped.kek_id, wrapped.blob))


_OTHERS = """SELECT kid, kek_id, wrapped FROM auth.signing_keys WHERE $1::uuid IS NOT NULL
    AND kek_id <> $2 AND kid > $3 ORDER BY kid LIMIT $4"""
_STORE = """UPDATE auth.signing_keys SET kek_id = $5, wrapped = $6
    WHERE $1::uuid IS NOT NULL AND kid = $2 AND kek_id = $3 AND wrapped = $4"""
