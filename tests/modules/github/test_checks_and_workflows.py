"""Checks of commits; workflows, their runs and jobs."""

import pytest
from pydantic import ValidationError

from modules.kit import ToolError, VendorProblem
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.call import Refused
from tests.support.github_double.parts import CheckRun, Job, Status, Workflow
from tests.support.github_double.world import Pull, Run

APP = {"owner": "mona", "repo": "app"}
RUN = {**APP, "run_id": 7}


async def test_checks_of_a_branch_and_of_a_pull_request(app: GitHubApp) -> None:
    tip = app.github.world.commit(app.app, {"a": b"1"}, branch="dev/x")
    app.github.world.issue(app.app, "Two", "hubot", pull=Pull("dev/x", "main"))
    app.app.parts.check_runs[tip.sha] = [
        CheckRun(1, "build"), CheckRun(2, "lint", conclusion="failure", title="2 errors"),
        CheckRun(3, "deploy", status="in_progress", conclusion=None, app=None),
    ]  # fmt: skip
    app.app.parts.statuses[tip.sha] = [Status("ci/other", "success", "All green", "https://ci.test/1")]
    found = await app.mona.call("get_checks", **APP, ref="dev/x")
    assert found == {
        "sha": tip.sha, "total_count": 4, "counts": {"success": 2, "failure": 1, "in_progress": 1},
        "check_runs": [
            {
                "id": 1, "name": "build", "status": "completed", "conclusion": "success", "app": "github-actions",
                "details_url": "https://github.test/checks/1",
            },
            {
                "id": 2, "name": "lint", "status": "completed", "conclusion": "failure", "app": "github-actions",
                "title": "2 errors", "details_url": "https://github.test/checks/2",
            },
            {"id": 3, "name": "deploy", "status": "in_progress", "details_url": "https://github.test/checks/3"},
        ],
        "statuses": [
            {"context": "ci/other", "state": "success", "description": "All green", "target_url": "https://ci.test/1"}
        ],
    }  # fmt: skip
    assert await app.mona.call("get_checks", **APP, pull_number=1) == found


async def test_checks_page_by_page_until_both_lists_end(app: GitHubApp) -> None:
    sha = app.app.branches["main"]
    app.app.parts.check_runs[sha] = [CheckRun(n, f"c{n}") for n in range(1, 4)]
    app.app.parts.statuses[sha] = [Status("one", "success")]
    first = await app.mona.call("get_checks", **APP, ref="main", per_page=2)
    assert (len(first["check_runs"]), len(first["statuses"]), first["total_count"]) == (2, 1, 4)
    rest = await app.mona.call("get_checks", **APP, ref="main", cursor=first["nextCursor"])
    assert ([one["id"] for one in rest["check_runs"]], "statuses" in rest, "nextCursor" in rest) == ([3], False, False)


async def test_a_commit_without_checks_and_none_at_all(app: GitHubApp) -> None:
    found = await app.mona.call("get_checks", **APP)
    assert found == {"sha": app.app.branches["main"], "total_count": 0, "counts": {}}
    with pytest.raises(VendorProblem, match="no such commit, branch or tag"):
        await app.mona.call("get_checks", **APP, ref="nope")
    with pytest.raises(ToolError, match=r"^give either ref or pull_number$"):
        await app.mona.call("get_checks", **APP, ref="main", pull_number=1)


async def test_workflows(app: GitHubApp) -> None:
    assert await app.mona.call("list_workflows", **APP) == {"total_count": 0, "workflows": []}
    app.app.parts.workflows += [
        Workflow(n, f"W{n}", f".github/workflows/{n}.yml", state="disabled_manually") for n in (1, 2)
    ]
    first = await app.mona.call("list_workflows", **APP, per_page=1)
    assert first["workflows"] == [
        {"id": 1, "name": "W1", "path": ".github/workflows/1.yml", "state": "disabled_manually"}
    ]
    rest = await app.mona.call("list_workflows", **APP, cursor=first["nextCursor"])
    assert ([one["id"] for one in rest["workflows"]], rest["total_count"], "nextCursor" in rest) == ([2], 2, False)


def a_run(app: GitHubApp, status: str = "completed", conclusion: str | None = "failure") -> Run:
    now = app.github.world.now
    made = Run(7, "Build", "main", app.app.branches["main"], "push", status, conclusion, "mona", now())
    steps = [("Set up job", "success"), ("Test\u202e", "failure"), ("Publish", "skipped"), ("Complete job", None)]
    made.jobs += [
        Job(71, "test", "completed", "failure", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", steps=steps),
        Job(72, "lint", "completed", "success", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
    ]
    app.app.runs.append(made)
    return made


async def test_jobs_with_the_steps_that_failed(app: GitHubApp) -> None:
    a_run(app)
    first = await app.mona.call("list_workflow_jobs", **RUN, per_page=1)
    assert first["jobs"] == [
        {
            "id": 71, "name": "test", "status": "completed", "conclusion": "failure", "failed_steps": ["Test: failure"],
            "started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:05:00Z",
        }
    ]  # fmt: skip
    rest = await app.mona.call("list_workflow_jobs", **RUN, cursor=first["nextCursor"])
    assert ([one["id"] for one in rest["jobs"]], rest["total_count"], "failed_steps" in rest["jobs"][0]) == (
        [72], 2, False,
    )  # fmt: skip
    with pytest.raises(VendorProblem, match="GitHub has no such resource"):
        await app.mona.call("list_workflow_jobs", **APP, run_id=8)


async def test_a_run_again_and_its_end(app: GitHubApp) -> None:
    run = a_run(app)
    assert await app.hubot.call("rerun_workflow_run", **RUN, failed_only=True) == {"done": True}
    assert [(one.name, one.attempt) for one in run.jobs] == [("test", 1), ("lint", 1), ("test", 2)]
    latest = await app.mona.call("list_workflow_jobs", **RUN)
    assert [(one["name"], one["status"]) for one in latest["jobs"]] == [("test", "queued")]
    assert len((await app.mona.call("list_workflow_jobs", **RUN, filter="all"))["jobs"]) == 3
    with pytest.raises(VendorProblem, match="the run is not in a state for this: look at its status") as caught:
        await app.mona.call("rerun_workflow_run", **RUN)
    assert caught.value.kind == "forbidden"  # as GitHub says it
    assert await app.hubot.call("cancel_workflow_run", **RUN) == {"done": True}
    assert (run.status, run.conclusion) == ("completed", "cancelled")
    with pytest.raises(VendorProblem, match="the run is not in a state for this: look at its status") as caught:
        await app.hubot.call("cancel_workflow_run", **RUN)
    assert caught.value.kind == "conflict"
    assert await app.hubot.call("rerun_workflow_run", **RUN) == {"done": True}
    assert (run.status, run.attempt) == ("queued", 3)


DEPLOY = {**APP, "workflow": "deploy.yml", "ref": "main"}


async def test_a_workflow_is_started(app: GitHubApp) -> None:
    app.app.parts.workflows.append(
        Workflow(5, "Deploy", ".github/workflows/deploy.yml", inputs={"to": True, "why": False})
    )
    made = await app.hubot.call("dispatch_workflow", **DEPLOY, inputs={"to": "本番"})
    [run] = app.app.runs
    assert made == {"run_id": run.id, "html_url": f"https://github.test/runs/{run.id}", "done": True}
    assert (run.event, run.branch, run.actor) == ("workflow_dispatch", "main", "hubot")
    await app.hubot.call("dispatch_workflow", **{**DEPLOY, "workflow": "5"}, inputs={"to": "x", "why": "y"})
    assert len(app.app.runs) == 2


async def test_an_older_server_does_not_name_the_run(app: GitHubApp) -> None:
    app.app.parts.workflows.append(Workflow(5, "Deploy", ".github/workflows/deploy.yml", inputs={}))
    text = 'Invalid request.\n\n"return_run_details" is not a permitted key.'
    app.github.next_answers = [Refused(422, text).reply]
    assert await app.hubot.call("dispatch_workflow", **DEPLOY) == {"done": True}
    assert len(app.app.runs) == 1


async def test_what_cannot_be_started(app: GitHubApp) -> None:
    parts = app.app.parts
    parts.workflows += [
        Workflow(5, "Deploy", ".github/workflows/deploy.yml", inputs={"to": True}),
        Workflow(6, "Push", ".github/workflows/push.yml"),
        Workflow(7, "Off", ".github/workflows/off.yml", state="disabled_manually", inputs={}),
    ]
    for given, text in (
        ({"ref": "gone"}, "ref: no such branch or tag"),
        ({"workflow": "push.yml"}, "has no workflow_dispatch trigger, and cannot be started"),
        ({"workflow": "off.yml"}, "the workflow is switched off"),
        ({}, "inputs do not fit those that the workflow declares"),
        ({"inputs": {"to": "x", "more": "y"}}, "inputs do not fit those that the workflow declares"),
    ):
        with pytest.raises(VendorProblem, match=text):
            await app.mona.call("dispatch_workflow", **{**DEPLOY, **given})
    assert app.app.runs == []
    with pytest.raises(ValidationError, match="the name of its file without folders"):
        await app.mona.call("dispatch_workflow", **{**DEPLOY, "workflow": ".github/workflows/deploy.yml"})
    for inputs in ({f"i{n}": "x" for n in range(26)}, {"to": True}, ["to"]):
        with pytest.raises(ValidationError, match="inputs"):
            await app.mona.call("dispatch_workflow", **DEPLOY, inputs=inputs)
