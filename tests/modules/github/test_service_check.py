"""`mcpist service check github`: every reading tool finds something to read, and its answer fits."""

from modules.github import MODULE
from tests.modules.github.calls import furnish
from tests.modules.github.conftest import GitHubApp
from tests.support.module_check import check_module, list_troubles


async def test_the_check_runs_every_reading_tool(app: GitHubApp) -> None:
    del app.github.world.repositories[app.secret.full_name]
    furnish(app.github.world, app.app)
    for release in app.app.releases:  # the check takes the newest
        release.assets = app.app.releases[0].assets
    checked = await check_module(MODULE, app.github.url, "mona-token", app.github.hosts)
    assert [(one.tool, one.state, one.reason, one.misfits) for one in list_troubles(checked)] == []
    assert checked.keys() == {one.name for one in MODULE.tools if one.hints.read_only}
