"""Stored credentials with the accounts behind them: their one query, and the value that every surface shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.connections.connection_status import (
    OAUTH_CLIENTS_PATH,
    HealthState,
    ResponsibleParty,
    build_connect_path,
    classify,
    describe_cause,
    find_responsible,
    is_transient,
)
from broker.vault.credential_store import CredentialOwner, decode_scheme, read_owner
from broker.vault.origin_policy import WARNING_DETAIL, OriginPolicy
from core.connection_state import CredentialKind
from core.db import Row, UnitOfWork
from core.errors import NotFound
from core.http.credential_headers import CredentialScheme

CredentialType = Literal["api_key", "oauth"]
CREDENTIAL_TYPES: Mapping[str, CredentialType] = {"A": "api_key", "B": "oauth"}
"""The types by the letter that a row has."""

MAX_CREDENTIALS = 1_000

CredentialKey = tuple[str, str, str]
"""The place of a credential in every list: module, kind, and the owner's e-mail address or role name."""


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """A credential and, of an OAuth one, the account behind it, as they are now. Nothing of it is secret.

    `owner` is an e-mail address or a role's name. `cause` is a fixed word, and "" where nothing is wrong; one that
    works can have a cause too: there is something that its owner had better do. `token_expires_at` is the end of the
    access token; one that `renews` is replaced before. `origins` are where it may be sent;
    without any, to the address that the module names itself. `scheme` is how it is sent.
    """

    id: UUID
    module: str
    type: CredentialType
    provider: str
    holder: CredentialOwner
    owner: str
    account: str
    state: HealthState
    cause: str
    next_retry_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None
    origins: tuple[str, ...]
    scheme: CredentialScheme
    account_id: UUID | None
    oauth_client_id: UUID | None
    vendor_account_id: str
    scopes: tuple[str, ...]
    details: Mapping[str, Any]
    token_expires_at: datetime | None = None
    renews: bool = False

    @property
    def kind(self) -> CredentialKind:
        return self.holder.kind

    @property
    def role_id(self) -> UUID | None:
        """The role that shares it; None for a user's own."""
        return self.holder.role_id

    @property
    def broken(self) -> bool:
        """Check whether only connecting it again, or a new key, makes it work: what passes by itself, or is for an
        administrator to mend at the OAuth client, leaves it whole."""
        return self.state in (HealthState.NEEDS_RECONNECT, HealthState.DISABLED)

    @property
    def message(self) -> str:
        """The cause in a clause for people."""
        return describe_cause(self.cause, self.state) if self.cause else ""

    @property
    def warning(self) -> str:
        """Advice to the owner of a credential that is not broken, as a fixed word."""
        return "" if self.broken else str(self.details.get(WARNING_DETAIL, ""))

    @property
    def responsible(self) -> ResponsibleParty:
        return find_responsible(self.state, self.kind)

    @property
    def link(self) -> str:
        """Path of the page on which the responsible party mends it."""
        if self.state is HealthState.SERVICE_MISCONFIGURED:
            return OAUTH_CLIENTS_PATH
        return build_connect_path(self.module, self.role_id)

    @property
    def sort_key(self) -> CredentialKey:
        """Position in a list."""
        return self.module, self.kind, self.owner


@dataclass(frozen=True, slots=True)
class UnconnectedModule:
    """A module that a user may use, for which there is neither a credential of theirs nor a shared one."""

    module: str
    owner: str

    @property
    def link(self) -> str:
        """Path of the page on which the user connects it."""
        return build_connect_path(self.module, None)

    @property
    def sort_key(self) -> CredentialKey:
        """Position in a list."""
        return self.module, "personal", self.owner


@dataclass(frozen=True, slots=True)
class AccountEvent:
    """One event of an account's history; `exchange` is what was said at the token endpoint, without any secret."""

    at: datetime
    kind: str
    error_class: str
    exchange: Mapping[str, Any]


async def load_credentials(
    work: UnitOfWork,
    *,
    modules: Sequence[str] | None = None,
    everyone: bool = False,
    user_id: UUID | None = None,
    role_ids: Sequence[UUID] = (),
    credential_id: UUID | None = None,
    after: CredentialKey | None = None,
    limit: int | None = MAX_CREDENTIALS,
    with_secrets: bool = False,
) -> Sequence[Row]:
    """List a user's and these roles' credentials, or everyone's in the tenant, by module, kind and owner.

    `modules` and `credential_id` narrow the list, and `after` begins behind a credential. The sealed secret of a pasted
    key is read only `with_secrets`.
    """
    names = None if modules is None else list(modules)
    arguments = names, everyone, user_id, list(role_ids), credential_id
    return await work.fetch(_CREDENTIALS, *arguments, *(after or (None, None, None)), limit, with_secrets)


async def list_credentials(
    work: UnitOfWork,
    origins: OriginPolicy,
    *,
    modules: Sequence[str] | None = None,
    everyone: bool = False,
    user_id: UUID | None = None,
    role_ids: Sequence[UUID] = (),
    credential_id: UUID | None = None,
    after: CredentialKey | None = None,
    limit: int | None = MAX_CREDENTIALS,
) -> list[StoredCredential]:
    """List what :func:`load_credentials` finds; one whose service has moved out of `origins` is broken."""
    rows = await load_credentials(
        work,
        modules=modules,
        everyone=everyone,
        user_id=user_id,
        role_ids=role_ids,
        credential_id=credential_id,
        after=after,
        limit=limit,
    )
    return [_build_credential(row, origins) for row in rows]


async def list_owner_credentials(
    work: UnitOfWork, origins: OriginPolicy, modules: Sequence[str], owner: CredentialOwner
) -> list[StoredCredential]:
    """List the credentials of one owner for these modules."""
    role_ids = [owner.role_id] if owner.role_id else []
    return await list_credentials(work, origins, modules=modules, user_id=owner.user_id, role_ids=role_ids, limit=None)


async def find_credential(work: UnitOfWork, origins: OriginPolicy, credential_id: UUID) -> StoredCredential:
    """Find one of the tenant's credentials.

    Raises:
        NotFound: the tenant has none of that id.
    """
    for credential in await list_credentials(work, origins, everyone=True, credential_id=credential_id):
        return credential
    raise NotFound("there is no such credential")


async def list_account_events(work: UnitOfWork, credential_id: UUID) -> list[AccountEvent]:
    """The last events of the account behind a credential, the newest first; of a pasted key there are none."""
    rows = await work.fetch(_HISTORY, credential_id)
    return [AccountEvent(row["at"], row["kind"], row["class"], orjson.loads(row["detail"])) for row in rows]


def _build_credential(row: Row, origins: OriginPolicy) -> StoredCredential:
    state, cause = classify(row, origins)
    return StoredCredential(
        id=row["id"],
        module=row["module"],
        type=CREDENTIAL_TYPES[row["type"]],
        provider=row["provider"],
        holder=read_owner(row),
        owner=row["owner"],
        account=row["account"],
        state=state,
        cause=cause,
        next_retry_at=row["again_at"] if cause and is_transient(state) else None,
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_used_at=row["last_used_at"],
        origins=tuple(row["origins"]),
        scheme=decode_scheme(row["scheme"]),
        account_id=row["account_id"],
        oauth_client_id=row["oauth_client_id"],
        vendor_account_id=row["vendor_account_id"],
        scopes=tuple(row["scopes"]),
        details=orjson.loads(row["details"]),
        token_expires_at=row["token_expires_at"],
        renews=row["account_id"] is not None and not row["unrenewable"],
    )


_CREDENTIALS = """SELECT c.id, c.module, c.type, c.user_id, c.role_id, w.kind, w.owner, c.version,
    c.state, c.cause, c.origins, c.scheme, CASE WHEN $11 THEN c.secret END AS secret,
    c.created_at, greatest(c.updated_at, a.updated_at) AS updated_at,
    greatest(c.last_used_at, a.last_used_at) AS last_used_at,
    c.last_used_at IS NULL OR c.last_used_at < k.now - interval '1 minute' AS stale_use,
    c.held_back, c.rejected_version, extract(epoch FROM c.recheck_at - k.now)::float8 AS recheck_in, d.in_doubt,
    coalesce(a.account, c.account) AS account, c.account_id, a.version AS account_version, a.status, a.reason,
    coalesce(a.provider, '') AS provider, a.oauth_client_id, coalesce(a.vendor_account_id, '') AS vendor_account_id,
    coalesce(a.scopes, '{}') AS scopes, coalesce(a.details, '{}'::jsonb) AS details,
    coalesce(a.details ->> 'warning', '') AS warning, a.granted_at, a.refresh IS NULL AS unrenewable,
    a.expires_at AS token_expires_at,
    coalesce(a.last_error_class, '') AS last_error_class, a.attempt_no, f.reason AS last_reason,
    coalesce(a.lease_until > k.now, false) AS refreshing,
    coalesce(a.uncertain OR a.lease_until <= k.now, false) AS cut_off,
    coalesce(o.state = 'misconfigured', false) AS misconfigured, o.cause AS client_cause,
    CASE WHEN d.in_doubt THEN c.recheck_at WHEN o.state = 'misconfigured' THEN o.breaker_until
        ELSE a.next_try_at END AS again_at, s.settings ->> 'base_url' AS service_url
    FROM (SELECT vault.clock() AS now) k, vault.credentials c
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    LEFT JOIN vault.oauth_clients o ON o.tenant_id = a.tenant_id AND o.id = a.oauth_client_id
    LEFT JOIN core.users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
    LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    LEFT JOIN core.services s ON s.tenant_id = c.tenant_id AND s.module = c.module
    CROSS JOIN LATERAL (SELECT c.held_back AND coalesce(a.status, 'active') = 'active'
        AND c.rejected_version IS NOT DISTINCT FROM coalesce(a.version, c.version) AS in_doubt) d
    CROSS JOIN LATERAL (SELECT CASE WHEN c.user_id IS NULL THEN 'shared' ELSE 'personal' END AS kind,
        coalesce(u.email, r.name) AS owner) w
    LEFT JOIN LATERAL (SELECT e.detail ->> 'reason' AS reason FROM vault.account_events e
        WHERE e.tenant_id = c.tenant_id AND e.account_id = a.id AND e.kind = 'failed' ORDER BY e.id DESC LIMIT 1
    ) f ON a.last_error_class <> ''
    WHERE c.tenant_id = $1 AND ($2::text[] IS NULL OR c.module = ANY ($2))
    AND ($3 OR c.user_id = $4 OR c.role_id = ANY ($5::uuid[])) AND ($6::uuid IS NULL OR c.id = $6)
    AND ($7::text IS NULL OR (c.module, w.kind, w.owner) > ($7, $8::text, $9::text))
    ORDER BY c.module, w.kind, w.owner LIMIT $10"""
_HISTORY = """SELECT e.at, e.kind, e.class, e.detail::text AS detail FROM vault.account_events e
    JOIN vault.credentials c ON c.tenant_id = e.tenant_id AND c.account_id = e.account_id
    WHERE e.tenant_id = $1 AND c.id = $2 ORDER BY e.id DESC LIMIT 50"""
