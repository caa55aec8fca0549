"""The stream of a tenant's audit log to its log collector, as administrators set it: one for each tenant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

from pydantic import ValidationError

from broker.audit_streams.collector import Collector, CollectorTarget, describe_delivery_error
from broker.notifications.settings import WebhookSettings
from broker.vault.envelope import CiphertextContext
from broker.vault.vault import Vault
from core.audit.event import AuditEventKind
from core.bilingual_text import BilingualText, say
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import ObjectVersion, check_version
from core.errors import Conflict, InvalidFields, NotFound
from core.secret import Secret

STREAMS_TABLE = "vault.audit_streams"
MAX_URL_LENGTH = 2_000
MAX_COUNTED_STREAMS = 200


@dataclass(frozen=True, slots=True)
class AuditStream:
    """A stream without its secret, and how it stands. `pending` is how many sealed records wait, the oldest of them
    since `oldest_pending_at`; `last_error` is a code (:mod:`broker.audit_streams.collector`), empty while records are
    taken."""

    url: str
    enabled: bool
    version: int
    position: int
    pending: int
    oldest_pending_at: datetime | None
    delivered_at: datetime | None
    last_error: str
    failing_since: datetime | None
    next_attempt_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StreamChange:
    """What an administrator gives. Without a `secret` the stored one stays. `from_beginning`: a new stream begins at
    the oldest record that is kept, otherwise at what happens from now on."""

    url: str
    secret: Secret | None = None
    enabled: bool = True
    from_beginning: bool = False


@dataclass(frozen=True, slots=True)
class StreamCheck:
    """The one step of a trial. `message` is a text of ours; what a collector says is never shown."""

    check: Literal["message"]
    outcome: Literal["ok", "failed"]
    message: BilingualText

    @property
    def message_ja(self) -> str:
        return self.message.ja


class AuditStreams:
    """The streams of all tenants, behind the broker's own database role."""

    def __init__(
        self, database: Database, vault: Vault, collector: Collector, *, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._vault = vault
        self._collector = collector
        self._clock = clock

    async def get(self, tenant_id: UUID) -> AuditStream:
        """Get the tenant's stream.

        Raises:
            NotFound: it has none.
        """
        async with self._database.tenant(tenant_id) as work:
            return await _get_stream(work)

    async def test(self, tenant_id: UUID, change: StreamChange) -> tuple[StreamCheck, ...]:
        """Post a trial record; nothing is stored.

        Raises:
            InvalidFields: the URL or the secret has the wrong form.
            broker.vault.vault.NotAdopted: this is a copy of a deployment, which posts nothing.
        """
        async with self._database.tenant(tenant_id) as work:
            secret = change.secret or await self._open_stored_secret(work)
        return await self._try(tenant_id, _build_target(change.url, secret))

    async def put(
        self,
        actor: Actor,
        tenant_id: UUID,
        change: StreamChange,
        *,
        despite_failures: bool = False,
        expected_version: int | None = None,
    ) -> tuple[AuditStream, tuple[StreamCheck, ...]]:
        """Store the tenant's stream after its trial, which one that is switched off does without. The position of a
        stored one stays, and it tries again at once. The version of one that is not stored yet is 0.

        Raises:
            VersionConflict: the stored version is not the expected one.
            InvalidFields: the URL or the secret has the wrong form, or a new stream has no secret.
            Conflict: the trial failed, or somebody else stored one at the same moment.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_FIND)
            check_version(_get_version(row), expected_version)
            secret = change.secret or await self._open_stored_secret(work)
        target = _build_target(change.url, secret)
        checks = await self._try(tenant_id, target) if change.enabled else ()
        for check in checks:
            if check.outcome == "failed" and not despite_failures:
                raise Conflict(check.message)
        async with self._database.tenant(tenant_id) as work:
            await self._store(work, actor, change, expected_version)
            return await _get_stream(work), checks

    async def remove(self, actor: Actor, tenant_id: UUID) -> None:
        """Delete the tenant's stream with its secret and position.

        Raises:
            NotFound: it has none.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_REMOVE):
                raise _build_not_found()
            await audit_change(work, actor, AuditEventKind.AUDIT_STREAM_REMOVED)

    async def _try(self, tenant_id: UUID, target: CollectorTarget) -> tuple[StreamCheck, ...]:
        self._vault.require_adopted()
        error = await self._collector.post_trial(target, tenant_id, self._clock())
        if error:
            return (StreamCheck("message", "failed", describe_delivery_error(error)),)
        return (
            StreamCheck(
                "message", "ok", say("the collector has taken a trial record", "コレクターがテスト記録を受け付けました")
            ),
        )

    async def _open_stored_secret(self, work: UnitOfWork) -> Secret | None:
        row = await work.fetchrow(_FIND)
        return None if row is None else await open_stream_secret(self._vault, work, row)

    async def _store(self, work: UnitOfWork, actor: Actor, change: StreamChange, expected_version: int | None) -> None:
        row = await work.fetchrow(_LOCK)
        check_version(_get_version(row), expected_version)
        now = self._clock()
        if row is None:
            if change.secret is None:
                raise _build_missing_secret()
            row_id = uuid4()
            sealed = await self._vault.seal(work, _build_place(row_id, 1), change.secret.reveal().encode())
            begin = 0 if change.from_beginning else await work.fetchval(_HEAD) or 0
            if not await work.execute(_INSERT, row_id, change.url, sealed, change.enabled, begin, now):
                raise Conflict("another administrator stored a stream at the same moment; read it, then change it")
        else:
            secret_version, sealed = row["secret_version"], row["secret"]
            if change.secret is not None:
                secret_version += 1
                place = _build_place(row["id"], secret_version)
                sealed = await self._vault.seal(work, place, change.secret.reveal().encode())
            await work.execute(_REPLACE, change.url, sealed, secret_version, change.enabled, now)
        detail = {"url": change.url[:200], "enabled": "on" if change.enabled else "off"}
        await audit_change(work, actor, AuditEventKind.AUDIT_STREAM_SET, **detail)


async def open_stream_secret(vault: Vault, work: UnitOfWork, row: Row) -> Secret:
    """Open the signing secret of a stream's row.

    Raises:
        broker.vault.envelope.DecryptionError: it was changed in the database.
    """
    plain = await vault.open(work, _build_place(row["id"], row["secret_version"]), row["secret"])
    return Secret(plain.decode())


async def list_streaming_tenants(database: Database) -> Sequence[UUID]:
    """List the tenants that have a stream."""
    rows = await database.lookup("deployment", "list", "SELECT tenant_id FROM vault.audit_streams ORDER BY created_at")
    return [row["tenant_id"] for row in rows]


async def find_stream(database: Database, tenant_id: UUID) -> AuditStream | None:
    """Find how the stream of a tenant stands; for the check-up, which needs no key."""
    async with database.tenant(tenant_id) as work:
        row = await work.fetchrow(_STATE)
    return None if row is None else _build_stream(row)


async def count_late_streams(database: Database, before: datetime) -> int:
    """Count the streams that are on and whose oldest record was sealed before `before`; those of the oldest
    :data:`MAX_COUNTED_STREAMS` tenants that stream."""
    tenants = (await list_streaming_tenants(database))[:MAX_COUNTED_STREAMS]
    streams = [await find_stream(database, tenant_id) for tenant_id in tenants]
    return sum(
        stream is not None
        and stream.enabled
        and stream.oldest_pending_at is not None
        and stream.oldest_pending_at < before
        for stream in streams
    )


async def _get_stream(work: UnitOfWork) -> AuditStream:
    row = await work.fetchrow(_STATE)
    if row is None:
        raise _build_not_found()
    return _build_stream(row)


def _build_stream(row: Row) -> AuditStream:
    waits = row["enabled"] and row["failures"] > 0
    return AuditStream(
        url=row["url"],
        enabled=row["enabled"],
        version=row["version"],
        position=row["position"],
        pending=max(0, row["newest"] - row["position"]),
        oldest_pending_at=row["oldest_pending_at"],
        delivered_at=row["delivered_at"],
        last_error=row["last_error"],
        failing_since=row["failing_since"],
        next_attempt_at=row["next_attempt_at"] if waits else None,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _build_target(url: str, secret: Secret | None) -> CollectorTarget:
    if secret is None:
        raise _build_missing_secret()
    try:
        return WebhookSettings.model_validate({"url": url, "secret": secret.reveal()})
    except ValidationError as error:
        wrong = {str(one["loc"][0]): str(one["msg"]).removeprefix("Value error, ") for one in error.errors()}
        raise InvalidFields(wrong) from None


def _build_place(row_id: UUID, version: int) -> CiphertextContext:
    return CiphertextContext(STREAMS_TABLE, row_id, "secret", version)


def _get_version(row: Row | None) -> ObjectVersion:
    return ObjectVersion(0) if row is None else ObjectVersion(row["version"], row["updated_at"])


def _build_not_found() -> NotFound:
    return NotFound("this tenant's audit log goes to no collector")


def _build_missing_secret() -> InvalidFields:
    return InvalidFields({"secret": "a new stream needs a signing secret"})


_COLUMNS = "SELECT id, version, secret, secret_version, updated_at FROM vault.audit_streams WHERE tenant_id = $1"
_FIND = _COLUMNS
_LOCK = _COLUMNS + " FOR UPDATE"
_HEAD = "SELECT seq FROM audit.heads WHERE tenant_id = $1"
_STATE = """SELECT s.url, s.enabled, s.version, s.position, s.delivered_at, s.last_error, s.failures, s.failing_since,
        s.next_attempt_at, s.created_at, s.updated_at,
        coalesce((SELECT h.seq FROM audit.heads h WHERE h.tenant_id = $1), 0) AS newest,
        (SELECT e.sealed_at FROM audit.events e WHERE e.tenant_id = $1 AND e.seq > s.position ORDER BY e.seq LIMIT 1)
            AS oldest_pending_at
    FROM vault.audit_streams s WHERE s.tenant_id = $1"""
_INSERT = """INSERT INTO vault.audit_streams
    (tenant_id, id, version, url, secret, secret_version, enabled, position, created_at, updated_at)
    VALUES ($1, $2, 1, $3, $4, 1, $5, $6, $7, $7) ON CONFLICT DO NOTHING"""
# A delivery that is under way does not count: it goes to the old URL.
_REPLACE = """UPDATE vault.audit_streams SET version = version + 1, url = $2, secret = $3, secret_version = $4,
    enabled = $5, updated_at = $6, failures = 0, failing_since = NULL, last_error = '', next_attempt_at = '-infinity',
    claim = NULL, claimed_until = '-infinity' WHERE tenant_id = $1"""
_REMOVE = "DELETE FROM vault.audit_streams WHERE tenant_id = $1"
