"""``/audit-stream``: the tenant's log collector, which gets its sealed audit log as it grows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field, SecretStr, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.audit_streams.stream_settings import MAX_URL_LENGTH, StreamChange, StreamCheck
from broker.vault.deployment_settings import MAX_SECRET_LENGTH
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.schemas import NO_CONTROL_CHARACTERS, RequestModel, ResponseModel
from core.api.versions import ExpectedVersion, describe_conflict, set_version
from core.secret import Secret

routes = create_router("audit")


class AuditStreamView(ResponseModel):
    """The stream of the audit log to a log collector, without its secret, and how it stands."""

    url: str = Field(description="URL that records are posted to.")
    format: Literal["jsonl"] = Field(default="jsonl", description="Format of a request's body: JSON Lines.")
    enabled: bool = Field(description="True if records are delivered.")
    position: int = Field(description="Number in the chain of the last record that the collector has taken.")
    pending: int = Field(description="Number of sealed records that wait to be delivered.")
    oldest_pending_at: datetime | None = Field(description="Time at which the oldest of them was sealed; or null.")
    delivered_at: datetime | None = Field(description="Time of the latest delivery; null before the first.")
    last_error: str = Field(
        description="Reason of the latest failure, such as `status_503`, `connect`, `timeout` or `tls`; empty while "
        "records are taken."
    )
    failing_since: datetime | None = Field(description="Time of the first failure in a row; null for none.")
    next_attempt_at: datetime | None = Field(description="Time of the next attempt after a failure; null otherwise.")
    created_at: datetime = Field(description="Time of creation.")
    updated_at: datetime = Field(description="Time of the latest change of the settings.")


class AuditStreamCheckView(ResponseModel):
    """One step of a trial."""

    check: Literal["message"] = Field(description="Subject of the step: the posted record.")
    outcome: Literal["ok", "failed"] = Field(description="Outcome of the step.")
    message: str = Field(description="Explanation, and the remedy of a failure.")
    message_ja: str = Field(description="Japanese text of `message`.")


class AuditStreamTrialView(ResponseModel):
    """Result of a trial; nothing was stored."""

    passed: bool = Field(description="True if no step failed.")
    checks: list[AuditStreamCheckView] = Field(description="Steps, up to the first that failed.")


class SavedAuditStreamView(ResponseModel):
    """The stored stream, and the trial before."""

    stream: AuditStreamView = Field(description="The stream as it is stored now.")
    checks: list[AuditStreamCheckView] = Field(description="Steps of the trial; none for one that is switched off.")


class AuditStreamSettings(RequestModel):
    """A log collector."""

    url: Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_LENGTH, pattern=NO_CONTROL_CHARACTERS)] = (
        Field(description="URL that records are posted to.")
    )
    secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_SECRET_LENGTH)] | None = Field(
        default=None,
        description="Signing secret: `whsec_` and at least 24 random bytes in base64; null keeps the stored one.",
    )


class AuditStreamUpsert(AuditStreamSettings):
    """A log collector to store."""

    enabled: bool = Field(default=True, description="True to deliver records; false keeps settings and position.")
    from_beginning: bool = Field(
        default=False,
        description="True to begin a new stream with the oldest record that is kept; otherwise it begins with what "
        "happens from now on. A stored stream goes on where it was.",
    )
    despite_failures: bool = Field(
        default=False,
        description="True to store the stream although the trial fails, such as while a server is away.",
    )


@routes.get("/audit-stream")
async def show_audit_stream(caller: AdminRead, connect: ConnectDeps, response: Response) -> AuditStreamView:
    """Get the stream of the tenant's audit log; 404 without one."""
    stream = await connect.audit_streams.get(caller.tenant_id)
    set_version(response, stream.version)
    return AuditStreamView.model_validate(stream)


@routes.post("/audit-stream/test")
async def test_audit_stream(
    body: AuditStreamSettings, caller: AdminWrite, connect: ConnectDeps
) -> AuditStreamTrialView:
    """Post a trial record of the kind `mcpist.test`, without storing anything."""
    with connect.draft_limits.track(str(caller.tenant_id)):
        checks = await connect.audit_streams.test(caller.tenant_id, StreamChange(body.url, _unwrap(body.secret)))
    return AuditStreamTrialView(passed=all(check.outcome == "ok" for check in checks), checks=_build_views(checks))


@routes.put("/audit-stream")
async def put_audit_stream(
    body: AuditStreamUpsert,
    caller: RecentlySignedInAdmin,
    connect: ConnectDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> SavedAuditStreamView:
    """Store or replace the stream of the tenant's audit log.

    A trial record is posted first, and nothing is stored if that fails. The log leaves MCPist this way, so a sign-in
    within the last ten minutes is required. It counts without a restart. `If-Match: "v0"` stores a new one only.
    """
    change = StreamChange(body.url, _unwrap(body.secret), body.enabled, body.from_beginning)
    streams = connect.audit_streams

    async def load_state() -> AuditStreamView:
        return AuditStreamView.model_validate(await streams.get(caller.tenant_id))

    with connect.draft_limits.track(str(caller.tenant_id)):
        saving = streams.put(
            caller.actor,
            caller.tenant_id,
            change,
            despite_failures=body.despite_failures,
            expected_version=expected_version,
        )
        stream, checks = await describe_conflict(saving, load_state)
    set_version(response, stream.version)
    return SavedAuditStreamView(stream=AuditStreamView.model_validate(stream), checks=_build_views(checks))


@routes.delete("/audit-stream", status_code=204)
async def remove_audit_stream(caller: AdminWrite, connect: ConnectDeps) -> None:
    """Remove the stream of the tenant's audit log, with its secret and its position."""
    await connect.audit_streams.remove(caller.actor, caller.tenant_id)


def _unwrap(secret: SecretStr | None) -> Secret | None:
    return None if secret is None else Secret(secret.get_secret_value())


def _build_views(checks: Sequence[StreamCheck]) -> list[AuditStreamCheckView]:
    return [AuditStreamCheckView.model_validate(check) for check in checks]
