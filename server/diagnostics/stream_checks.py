"""The check-up's look at the streams of the audit log: whether each collector takes records, and how far it is."""

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

from broker.audit_streams.collector import describe_delivery_error
from broker.audit_streams.stream_settings import AuditStream, find_stream, list_streaming_tenants
from core.bilingual_text import say
from core.db import Database
from core.directory.tenants import Tenant, list_tenants
from server.deployment import Deployment
from server.diagnostics.finding import Finding
from server.role_database import BROKER_ROLE, open_role_database

LATE_AFTER = timedelta(minutes=5)
LOST_AFTER = timedelta(hours=1)
MAX_SHOWN = 50


async def check_audit_streams(deployment: Deployment, console: Database, now: datetime) -> list[Finding]:
    """Report how the stream of each tenant stands; those beyond the first fifty are counted."""
    return [finding async for finding in _check_streams(deployment, console, now)]


async def check_tenant_stream(broker: Database, tenant: Tenant, now: datetime) -> list[Finding]:
    """Report how the stream of a tenant stands, if it has one."""
    stream = await find_stream(broker, tenant.id)
    return [] if stream is None else [_describe_stream(tenant.slug, stream, now)]


async def _check_streams(deployment: Deployment, console: Database, now: datetime) -> AsyncGenerator[Finding]:
    async with open_role_database(deployment, BROKER_ROLE, max_connections=1) as broker:
        tenants = await list_streaming_tenants(broker)
        if not tenants:
            return
        slugs = {tenant.id: tenant.slug for tenant in await list_tenants(console)}
        for tenant_id in tenants[:MAX_SHOWN]:
            stream = await find_stream(broker, tenant_id)
            if stream is not None:
                yield _describe_stream(slugs.get(tenant_id, str(tenant_id)), stream, now)
        if len(tenants) > MAX_SHOWN:
            yield Finding(
                "audit stream",
                "ok",
                say("{count} more are not shown", "ほかに {count} 件あります", count=len(tenants) - MAX_SHOWN),
            )


def _describe_stream(slug: str, stream: AuditStream, now: datetime) -> Finding:
    check = f"audit stream ({slug})"
    if not stream.enabled:
        return Finding(
            check,
            "ok",
            say("switched off; {count} records wait", "停止中です。待機中の記録 {count} 件", count=stream.pending),
        )
    late = timedelta(0) if stream.oldest_pending_at is None else now - stream.oldest_pending_at
    waiting = say("no record waits", "待機中の記録はありません")
    if stream.oldest_pending_at is not None:
        waiting = say(
            "{count} records wait, the oldest since {since:%Y-%m-%d %H:%M} UTC",
            "待機中の記録 {count} 件、最も古いものは {since:%Y-%m-%d %H:%M} UTC",
            count=stream.pending,
            since=stream.oldest_pending_at,
        )
    if stream.last_error:
        state = "error" if late > LOST_AFTER else "warning"
        return Finding(
            check,
            state,
            say(
                "{why}; {waiting}", "{why}。{waiting}", why=describe_delivery_error(stream.last_error), waiting=waiting
            ),
        )
    if late > LATE_AFTER:
        return Finding(
            check,
            "warning",
            say(
                "the collector takes records more slowly than they come: {waiting}",
                "記録の発生に送信が追いついていません：{waiting}",
                waiting=waiting,
            ),
        )
    return Finding(
        check,
        "ok",
        say(
            "the collector has taken the records until number {position}",
            "コレクターは {position} 番までの記録を受け付けました",
            position=stream.position,
        ),
    )
