"""`mcpist job`: work that goes on after the call that asked for it."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.jobs import JobEntry

app = create_group("Work that goes on after the call that asked for it.")

JobId = Annotated[UUID, typer.Argument(metavar="ID", help="The job's id, as `mcpist job list` shows it.")]


@app.command("list", epilog="Example: mcpist job list --state running")
def list_(
    own: Annotated[bool, typer.Option("--own", help="Your own only, at a server where you are signed in.")] = False,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE", help="Only queued, running, succeeded, failed, cancelled or unknown ones."
        ),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the jobs of the tenant, newest first, without what they are about."""

    def call_api(api: "AdminApiClient") -> "list[JobEntry]":
        from cli.client.jobs import fetch_jobs

        return fetch_jobs(api, state, all_owners=not own)

    jobs = run_api_command(call_api, tenant=tenant, needs_tenant=not own)
    columns = ("Id", "User", "Tool", "State", "Progress", "Error", "Since", "End")
    rows = [
        (
            job.id,
            job.user_email,
            _format_tool(job),
            job.state,
            _format_progress(job),
            job.error,
            job.created_at,
            job.finished_at,
        )
        for job in jobs
    ]
    print_result(as_json, jobs, lambda: print_table(columns, rows, empty="There are no jobs."))


@app.command("show", epilog="Example: mcpist job show 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def show(job_id: JobId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show one job."""

    def call_api(api: "AdminApiClient") -> "JobEntry":
        from cli.client.jobs import fetch_job

        return fetch_job(api, job_id)

    job = run_api_command(call_api, tenant=tenant)
    rows = [
        ("User", job.user_email),
        ("Tool", _format_tool(job)),
        ("State", job.state),
        ("Attempt", job.attempt),
        ("Progress", _format_progress(job)),
        ("Message", job.message),
        ("Error", job.error),
        ("Asked for", job.created_at),
        ("Started", job.started_at),
        ("Ended", job.finished_at),
        ("Mail", job.notify),
        ("Kept until", job.expires_at),
    ]
    print_result(as_json, job, lambda: print_table(("", ""), rows, empty=""))


@app.command("cancel", epilog="Example: mcpist job cancel 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def cancel(job_id: JobId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Cancel a job that waits, or tell one that runs to end; what it has brought about by then stays."""

    def call_api(api: "AdminApiClient") -> "JobEntry":
        from cli.client.jobs import cancel_job

        return cancel_job(api, job_id)

    job = run_api_command(call_api, tenant=tenant)
    told = "The job was told to end." if job.state == "running" else f"The job is {job.state}."
    print_result(as_json, job, lambda: print_line(told))


@app.command("retry", epilog="Example: mcpist job retry 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def retry(job_id: JobId, as_json: JsonOption = False) -> None:
    """Try a job of your own again, at a server where you are signed in. It must have ended without success."""

    def call_api(api: "AdminApiClient") -> "JobEntry":
        from cli.client.jobs import retry_job

        return retry_job(api, job_id)

    job = run_api_command(call_api, needs_tenant=False)
    print_result(as_json, job, lambda: print_line("The job waits for its turn again."))


@app.command("notify", epilog="Example: mcpist job notify 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10 --when failure")
def notify(
    job_id: JobId,
    when: Annotated[
        str, typer.Option("--when", metavar="never|failure|always", help="After which ends of it you get a mail.")
    ] = "always",
    as_json: JsonOption = False,
) -> None:
    """Get a mail when a job of your own ends, at a server where you are signed in that sends mail."""

    def call_api(api: "AdminApiClient") -> "JobEntry":
        from cli.client.jobs import set_notify

        return set_notify(api, job_id, when)

    job = run_api_command(call_api, needs_tenant=False)
    print_result(as_json, job, lambda: print_line(_NOTIFY_TEXTS[job.notify]))


def _format_tool(job: "JobEntry") -> str:
    return f"{job.module}.{job.tool}" if job.module else "batch"


def _format_progress(job: "JobEntry") -> str:
    if job.progress is None:
        return ""
    return f"{job.progress:g}" if job.total is None else f"{job.progress:g} of {job.total:g}"


_NOTIFY_TEXTS = {
    "never": "You get no mail when the job ends.",
    "failure": "You get a mail when the job ends without success.",
    "always": "You get a mail when the job ends.",
}
