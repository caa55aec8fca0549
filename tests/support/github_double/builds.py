"""Checks of commits, and the workflows of GitHub Actions with their runs and jobs."""

from typing import Any

from tests.support.github_double import answers
from tests.support.github_double.call import Call, Refused, Reply
from tests.support.github_double.paging import paged
from tests.support.github_double.parts import CheckRun, Job, Status, Workflow
from tests.support.github_double.world import Commit, Repository, Run

COMMIT = "/repos/{owner}/{repo}/commits/{ref}"
ACTIONS = "/repos/{owner}/{repo}/actions"
ACTS = "actions=write"
MOST_INPUTS = 25


def check_runs(call: Call) -> Reply:
    home, commit = _commit(call, 422)
    found = home.parts.check_runs.get(commit.sha, [])
    listed = paged(call, found, lambda one: _check_run(call, one, commit))
    return Reply(200, {"total_count": len(found), "check_runs": listed.value}, listed.headers)


def _check_run(call: Call, one: CheckRun, commit: Commit) -> Any:
    known = {
        "id": one.id, "name": one.name, "status": one.status, "conclusion": one.conclusion, "head_sha": commit.sha,
        "details_url": f"{answers.HTML}/checks/{one.id}", "output": {"title": one.title, "summary": "x" * 300},
        "app": one.app and {"slug": one.app, "name": one.app.title()},
    }  # fmt: skip
    return call.fill("check-run", known)


def statuses(call: Call) -> Reply:
    home, commit = _commit(call, 404)
    found = home.parts.statuses.get(commit.sha, [])
    listed = paged(call, found, lambda one: _status(call, one))
    known = {
        "state": "pending", "sha": commit.sha, "total_count": len(found), "statuses": listed.value,
        "repository": answers.repository(call, home, "minimal-repository"),
    }  # fmt: skip
    return Reply(200, call.fill("combined-commit-status", known), listed.headers)


def _status(call: Call, one: Status) -> Any:
    known = {
        "context": one.context, "state": one.state, "description": one.description, "target_url": one.target_url
    }  # fmt: skip
    return call.fill("simple-commit-status", known)


def _commit(call: Call, missing: int) -> tuple[Repository, Commit]:
    home, ref = call.repository(), call.values["ref"]
    one = home.resolve(ref)
    if one is None:
        raise Refused(missing, f"No commit found for SHA: {ref}")
    return home, one


def workflows(call: Call) -> Reply:
    found = call.repository().parts.workflows
    listed = paged(call, found, lambda one: _workflow(call, one))
    return Reply(200, {"total_count": len(found), "workflows": listed.value}, listed.headers)


def _workflow(call: Call, one: Workflow) -> Any:
    return call.fill("workflow", {"id": one.id, "name": one.name, "path": one.path, "state": one.state})


def dispatch(call: Call) -> Reply:
    home, wanted = call.writable(ACTS), call.values["workflow_id"]
    workflow = next((one for one in home.parts.workflows if wanted in (str(one.id), one.path.rsplit("/", 1)[-1])), None)
    if workflow is None:
        raise Refused(404, "Not Found")
    ref, inputs = call.body["ref"], call.body.get("inputs", {})
    if ref not in home.branches and ref not in home.tags:
        raise Refused(422, f"No ref found for: {ref}")
    if workflow.inputs is None:
        raise Refused(422, "Workflow does not have 'workflow_dispatch' trigger")
    if workflow.state != "active":
        raise Refused(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    if len(inputs) > MOST_INPUTS or not all(isinstance(value, str) for value in inputs.values()):
        raise Refused(422, "Invalid request.")
    if strangers := sorted(inputs.keys() - workflow.inputs.keys()):
        raise Refused(422, f"Unexpected inputs provided: {strangers}")
    for name, is_required in workflow.inputs.items():
        if is_required and name not in inputs:
            raise Refused(422, f"Required input '{name}' not provided")
    commit = home.resolve(ref)
    assert commit is not None
    now = call.world.now()
    made = Run(
        call.world.id(), workflow.name, ref, commit.sha, "workflow_dispatch", "queued", None, call.token.login, now
    )
    home.runs.append(made)
    if not call.body.get("return_run_details"):
        return Reply(204, text="")
    address = f"{call.root}/repos/{home.full_name}/actions/runs/{made.id}"
    return Reply(200, {"workflow_run_id": made.id, "run_url": address, "html_url": f"{answers.HTML}/runs/{made.id}"})


def jobs(call: Call) -> Reply:
    run = _run(call, call.repository())
    every = call.query.get("filter") == "all"
    found = [one for one in run.jobs if every or one.attempt == run.attempt]
    listed = paged(call, found, lambda one: _job(call, one, run))
    return Reply(200, {"total_count": len(found), "jobs": listed.value}, listed.headers)


def _job(call: Call, one: Job, run: Run) -> Any:
    steps = [
        {"name": name, "conclusion": conclusion, "status": "completed" if conclusion else "in_progress", "number": n}
        for n, (name, conclusion) in enumerate(one.steps, 1)
    ]
    known = {
        "id": one.id, "run_id": run.id, "run_attempt": one.attempt, "name": one.name, "status": one.status,
        "conclusion": one.conclusion, "started_at": one.started, "completed_at": one.completed, "steps": steps,
        "head_sha": run.sha,
    }  # fmt: skip
    return call.fill("job", known)


def job_logs(call: Call) -> Reply:
    number = int(call.values["job_id"])
    found = [one for run in call.repository().runs for one in run.jobs if one.id == number and one.completed]
    if not found:
        raise Refused(404, "Not Found")
    if found[0].log is None:
        raise Refused(410, "The logs for this run have expired and are no longer available.")
    return Reply(302, headers={"Location": call.store.link(call.origin, found[0].log)}, text="")


def rerun(call: Call) -> Reply:
    run = _finished(call)
    return _again(call, run, [one for one in run.jobs if one.attempt == run.attempt])


def rerun_failed(call: Call) -> Reply:
    run = _finished(call)
    return _again(call, run, [one for one in run.jobs if one.attempt == run.attempt and one.conclusion != "success"])


def _finished(call: Call) -> Run:
    run = _run(call, call.writable(ACTS))
    if run.status != "completed":
        raise Refused(403, "This workflow is already running")
    return run


def _again(call: Call, run: Run, again: list[Job]) -> Reply:
    run.attempt += 1
    run.status, run.conclusion = "queued", None
    run.jobs += [
        Job(call.world.id(), one.name, "queued", None, call.world.now(), None, attempt=run.attempt) for one in again
    ]
    return Reply(201, {})


def cancel(call: Call) -> Reply:
    run = _run(call, call.writable(ACTS))
    if run.status == "completed":
        raise Refused(409, "Cannot cancel a workflow run that is completed.")
    run.status, run.conclusion = "completed", "cancelled"
    return Reply(202, {})


def delete_run(call: Call) -> Reply:
    home = call.writable(ACTS)
    run = _run(call, home)
    if run.status != "completed":
        raise Refused(403, "Can not delete a workflow run that is not completed.")
    home.runs.remove(run)
    return Reply(204, text="")


def _run(call: Call, home: Repository) -> Run:
    found = next((one for one in home.runs if one.id == int(call.values["run_id"])), None)
    if found is None:
        raise Refused(404, "Not Found")
    return found


ROUTES = {
    ("get", f"{COMMIT}/check-runs"): check_runs,
    ("get", f"{COMMIT}/status"): statuses,
    ("get", f"{ACTIONS}/workflows"): workflows,
    ("post", f"{ACTIONS}/workflows/{{workflow_id}}/dispatches"): dispatch,
    ("get", f"{ACTIONS}/runs/{{run_id}}/jobs"): jobs,
    ("get", f"{ACTIONS}/jobs/{{job_id}}/logs"): job_logs,
    ("post", f"{ACTIONS}/runs/{{run_id}}/rerun"): rerun,
    ("post", f"{ACTIONS}/runs/{{run_id}}/rerun-failed-jobs"): rerun_failed,
    ("post", f"{ACTIONS}/runs/{{run_id}}/cancel"): cancel,
    ("delete", f"{ACTIONS}/runs/{{run_id}}"): delete_run,
}
