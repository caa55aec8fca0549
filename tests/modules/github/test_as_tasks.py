"""What takes long at GitHub, as a task of both forms."""

import pytest

from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository
from tests.support.github_double.parts import Job
from tests.support.github_double.world import Run
from tests.support.task_forms import FORMS, run_as_task

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest.mark.parametrize("form", FORMS)
async def test_a_commit_of_several_files(hub: Hub, home: Repository, form: str) -> None:
    files = [{"path": "a.txt", "content": "一"}, {"path": "README.md", "delete": True}]
    params = {**named(home), "branch": "main", "message": "Push", "files": files}
    before = len(home.commits)
    made = await run_as_task(hub.product.node, hub.product.ada, form, "github", "push_files", params)
    assert made == {"branch": "main", "commit": home.branches["main"], "files": 2}
    assert len(home.commits) == before + 1


@pytest.mark.parametrize("form", FORMS)
async def test_the_log_of_a_job(hub: Hub, home: Repository, form: str) -> None:
    at = home.created
    run = Run(hub.github.world.id(), "Build", "main", "0" * 40, "push", "completed", "failure", "mona", at)
    run.jobs.append(Job(hub.github.world.id(), "test", "completed", "failure", at, at, log="失敗\n".encode()))
    home.runs.append(run)
    params = {**named(home), "job_id": run.jobs[0].id}
    found = await run_as_task(hub.product.node, hub.product.ada, form, "github", "get_job_logs", params)
    assert found["text"] == "失敗\n"
