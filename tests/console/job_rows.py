"""Jobs and schedules of people, as gateways and workers have left them."""

from typing import Any
from uuid import UUID, uuid4

from tests.console.console_app import ConsoleApp
from tests.support.canary import SUITE
from tests.support.mcp_client import NEWEST, Client
from tests.support.product import Person

_ADD = """INSERT INTO jobs.jobs (tenant_id, id, user_id, kind, module, tool, title, client, arguments, is_repeatable,
        retries_left, lifetime, expires_at, state, attempt, lease_owner, progress, total, message, error, started_at,
        finished_at)
    VALUES ($1, $2, $3, 'call', $4, $5, $6, 'Claude Code', 'sealed', $7, 0, interval '1 hour',
        now() + interval '1 hour', $8::text, CASE WHEN $9 THEN 1 ELSE 0 END,
        CASE WHEN $8 = 'running' THEN gen_random_uuid() END, $10, $11, $12, $13, CASE WHEN $9 THEN now() END,
        CASE WHEN $8 NOT IN ('queued', 'running') THEN now() END)"""
CHANGE = """UPDATE jobs.jobs SET state = $2::text, progress = $3, total = $4, message = $5,
        lease_owner = CASE WHEN $2 = 'running' THEN gen_random_uuid() END, started_at = now(),
        attempt = 1, finished_at = CASE WHEN $2 NOT IN ('queued', 'running') THEN now() END
    WHERE id = $1"""

_ADD_SCHEDULE = """INSERT INTO jobs.schedules (tenant_id, id, user_id, title, kind, module, tool, client, mandate_id,
        arguments, retries, lifetime, cron, every, time_zone, overlap, state, end_reason, next_run_at,
        last_run_at, last_job_id)
    VALUES ($1, $2, $3, $4, 'call', 'github', $5, 'Claude Code', gen_random_uuid(), '', 0, '7 days', $6, $7::interval,
        $8, 'skip', $9::text, $10,
        CASE WHEN $9 = 'active' THEN timestamptz '2027-01-01T00:30Z' END,
        CASE WHEN $11::uuid IS NOT NULL THEN now() END, $11)"""
_AGREE = (
    """UPDATE jobs.schedules SET consented_at = now(), mandate_expires_at = now() + interval '1 year' WHERE id = $1"""
)


async def add_job(app: ConsoleApp, person: Person, state: str, **more: Any) -> UUID:
    """A job of a person's. `more` are `module`, `tool`, `title`, `is_repeatable`, `began`, `progress`, `total`,
    `message` and `error`."""
    job_id = uuid4()
    values = {
        "module": "github",
        "tool": "get_job_logs",
        "title": "GitHub: Get job logs",
        "is_repeatable": False,
        "began": state != "queued",
        "progress": None,
        "total": None,
        "message": "",
        "error": "",
        **more,
    }
    texts = (values["module"], values["tool"], values["title"], values["is_repeatable"])
    progress = (values["progress"], values["total"], values["message"], values["error"])
    async with app.product.database.admin_connection() as admin:
        await admin.execute(_ADD, person.tenant.id, job_id, person.id, *texts, state, values["began"], *progress)
    return job_id


async def start_job(app: ConsoleApp, person: Person, *, is_repeatable: bool = True) -> UUID:
    """A job that a client has started; no worker takes it up."""
    call = {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}
    params = {"name": "call", "arguments": call, "task": {}}
    client = Client(app.identity.gateway.app, SUITE.hear)
    answer = await client.post(person.token, "tools/call", params, revision=NEWEST)
    job_id = UUID(answer.result["task"]["taskId"])
    async with app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.jobs SET is_repeatable = $2 WHERE id = $1", job_id, is_repeatable)
    return job_id


async def change_job(
    app: ConsoleApp,
    job_id: UUID,
    state: str,
    progress: float | None = None,
    total: float | None = None,
    message: str = "",
) -> None:
    """What a worker writes of a job that it runs."""
    async with app.product.database.admin_connection() as admin:
        await admin.execute(CHANGE, job_id, state, progress, total, message)


async def add_schedule(
    app: ConsoleApp, person: Person, title: str = "Morning report", *, is_agreed: bool = True, **more: Any
) -> UUID:
    """A schedule of a person's. `more` are `tool`, `cron`, `every`, `time_zone`, `state`, `end_reason` and
    `last_job_id`."""
    schedule_id = uuid4()
    values = {
        "tool": "list_issues",
        "cron": "30 9 * * MON-FRI",
        "every": None,
        "time_zone": "Asia/Tokyo",
        "state": "active",
        "end_reason": "",
        "last_job_id": None,
        **more,
    }
    async with app.product.database.admin_connection() as admin:
        await admin.execute(_ADD_SCHEDULE, person.tenant.id, schedule_id, person.id, title, *values.values())
        if is_agreed:  # else a trigger has looked at a mandate that is not there
            await admin.execute(_AGREE, schedule_id)
    return schedule_id
