"""What every tool of GitHub's goes through."""

from collections.abc import Mapping, Sequence

import pytest
import pytest_asyncio

from modules.github import MODULE
from tests.modules.github.calls import CALLS, complete, furnish
from tests.modules.github.conftest import Hub
from tests.support.github_double import GitHubDouble
from tests.support.github_double.call import Refused, Reply
from tests.support.github_double.world import Event, World
from tests.support.module_app import ModuleApp
from tests.support.resource_walk import ResourceWalk
from tests.support.tool_calls import STRANGER, Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest_asyncio.fixture(loop_scope="package")
async def vendor(hub: Hub) -> GitHubDouble:
    return hub.github


@pytest_asyncio.fixture(loop_scope="package")
async def app(hub: Hub) -> ModuleApp:
    return hub.product


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "eve-token"
    secret = "議事録|アプリ"
    lacking = "scope|permission|may not do this|no access|has no such|does not exist|No such|no such"
    free = frozenset(
        {"get_me", "list_repositories", "search_issues", "search_code", "search_repositories", "list_user_events"}
    )
    beyond = frozenset({"list_notifications"})  # fine-grained tokens have no permission for them
    limited = r"try again in (5\d|60) s"
    parallel = frozenset({"get_checks"})
    ids = frozenset(
        {
            "owner",
            "repo",
            "issue_number",
            "pull_number",
            "comment_id",
            "review_id",
            "release_id",
            "asset_id",
            "milestone_number",
            "job_id",
            "run_id",
            "sub_issue_number",
            "sub_repo",
            "thread_id",
        }
    )
    reads = "/git/(blobs|trees|commits)$"  # what they make is seen nowhere until a branch leads to it

    def furnish(self, vendor: GitHubDouble) -> Calls:
        world = vendor.world = World()
        for login in ("mona", "hubot", "eve"):
            world.token(f"{login}-token", login)
        world.token("powerless", "mona", scopes=frozenset())
        world.token("reader", "mona", scopes=None, writes=False)
        for secret in ("stranger", "limited"):
            world.token(secret, "eve")
        world.repository("mona", "second-app", private=True)
        made = world.repository("mona", "app", description="The app アプリ", private=True, writers={"hubot"})
        files = {"README.md": "# アプリ تطبيق\n".encode(), "src/main.py": b"print('one')\n", "b.py": b"print('two')\n"}
        world.commit(made, files, "First")
        furnish(world, made)
        for number in range(2):
            action: dict[str, object] = {"action": "started"}
            world.events.append(Event(str(number), "WatchEvent", "mona", made, ("watch-event", action), world.now()))
        return {name: complete(name, made) for name in CALLS}

    def make_keys(self, vendor: GitHubDouble) -> Mapping[str, str]:
        """The tokens are those of :meth:`furnish`."""
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> VendorReply:
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return VendorReply(403, {"message": text})

    def queue(self, vendor: GitHubDouble, answers: Sequence[VendorReply | VendorRefusal | None]) -> None:
        vendor.next_answers[:] = [one and _make_reply(one) for one in answers]

    def list_replies(self, vendor: GitHubDouble) -> Sequence[VendorReply]:
        return [
            VendorReply(one.status, one.value if one.text is None else one.text.encode(), one.headers)
            for one in vendor.replies
        ]

    def build_refusal(self, vendor: GitHubDouble, status: int) -> VendorReply:
        reply = Refused(status, STRANGER).reply
        return VendorReply(status, reply.value)


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    typed = {"pull_request.number": "議事", "issue.number": "two"}  # noqa: RUF012

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        home = {name: calls["get_issue"][name] for name in ("owner", "repo")}
        return {
            "readme": home,
            "file": {**home, "path": "README.md"},
            "issue": {**home, "number": "2"},
            "pull_request": {**home, "number": "1"},
            "pull_request_diff": {**home, "number": "1"},
        }


def _make_reply(answer: VendorReply | VendorRefusal) -> Reply:
    """The answer as the double has it."""
    is_cut = isinstance(answer, VendorReply) and answer.cut
    if isinstance(answer.body, bytes) or answer.body is None:
        text = None if answer.body is None and is_cut else (answer.body or b"").decode()
        return Reply(answer.status, None, answer.headers, text, is_cut)
    return Reply(answer.status, answer.body, answer.headers)
