"""Stored credentials of a tenant, as the product's one query has them."""

from collections.abc import Mapping
from uuid import UUID

from broker.connections.stored_credentials import StoredCredential, list_credentials
from broker.vault.credential_store import CredentialOwner
from broker.vault.origin_policy import OriginPolicy
from core.db import Database


async def list_stored(
    database: Database,
    tenant_id: UUID,
    module: str | None = None,
    owner: CredentialOwner | None = None,
    base_urls: Mapping[str, str] | None = None,
) -> list[StoredCredential]:
    """List all, or those for one module, or of one owner; services of `base_urls` may have moved away from there."""
    async with database.tenant(tenant_id) as work:
        return await list_credentials(
            work,
            OriginPolicy(base_urls or {}),
            modules=None if module is None else [module],
            everyone=owner is None,
            user_id=owner and owner.user_id,
            role_ids=[owner.role_id] if owner and owner.role_id else (),
        )
