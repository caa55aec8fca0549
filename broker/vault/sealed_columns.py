"""Every column that holds secrets sealed under a tenant's data key, and what each value is bound to.

A test compares the list with the database: a column that is missing here would stay under an old key for ever.
"""

from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from broker.vault.envelope import CiphertextContext


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of a tenant's table. `version` is an expression that gives the version that a value is bound to."""

    table: LiteralString
    column: LiteralString
    field: str
    version: LiteralString = "version"

    def build_context(self, row_id: UUID, version: int) -> CiphertextContext:
        """Return the encryption context that binds a value to its row."""
        return CiphertextContext(self.table, row_id, self.field, version)


SEALED_COLUMNS = (
    SealedColumn("vault.credentials", "secret", "access"),
    SealedColumn("vault.oauth_clients", "secret", "client_secret"),
    SealedColumn("vault.accounts", "access", "access"),
    SealedColumn("vault.accounts", "refresh", "refresh"),
    SealedColumn("vault.candidates", "access", "access", version="presented_version"),
    SealedColumn("vault.candidates", "refresh", "refresh", version="presented_version"),
    SealedColumn("vault.connect_flows", "pkce", "pkce", version="1::bigint"),
)
