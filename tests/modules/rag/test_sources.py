"""Documents from a GitHub repository: by one's own account, no more than it sees, and gone when it is gone there."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from core.directory.users import change_user, remove_user
from modules.github import MODULE as GITHUB
from modules.rag import MODULE as RAG
from server.deletion_maintenance import purge_deleted
from tests.support.github_double import GitHubDouble, Repository, github_double
from tests.support.module_app import ModuleApp, open_module_app
from tests.support.postgres import DatabaseServer
from tests.support.product import ACTOR, Person
from tests.support.task_forms import CORE, run_as_task

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Desk:
    """A product with documents before a GitHub: ada is connected as mona, eve of another tenant as eve."""

    github: GitHubDouble
    app: ModuleApp

    async def ask(self, tool: str, person: Person | None = None, **params: Any) -> Any:
        return await self.app.node.call((person or self.app.ada).token, "rag", tool, params)

    async def add(self, repository: Repository, **more: Any) -> str:
        place = {"kind": "github", "repository": f"mona/{repository.name}"}
        return (await self.ask("add_source", source=place, **more)).value["source_id"]

    async def sync(self, source_id: str, person: Person | None = None) -> dict[str, Any]:
        found = await run_as_task(
            self.app.node, person or self.app.ada, CORE, "rag", "sync_documents", {"source_id": source_id}
        )
        return found["report"]

    async def paths(self) -> list[str]:
        return [one["file_path"] for one in (await self.ask("list_docs_by_date", limit=200)).value["documents"]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("rag")
    async with github_double("/api/v3") as double:
        further: dict[str, Any] = {f"{name}_url": url for name, url in double.hosts.items()}
        async with open_module_app(database_server, folder, GITHUB, double.url, beside=[RAG], **further) as app:
            for login in ("mona", "hubot", "eve"):
                double.world.token(f"{login}-token", login)
            await app.connect(app.ada, "mona-token")
            await app.connect(app.eve, "eve-token")
            yield Desk(double, app)


def make_repository(desk: Desk, files: dict[str, bytes], **options: Any) -> Repository:
    world = desk.github.world
    made = world.repository("mona", f"docs-{world.id()}", **options)
    world.commit(made, files, "First")
    return made


async def test_a_repository_is_kept_up_to_date(desk: Desk) -> None:
    guide = "---\ntitle: 導入\ntags: [guide]\n---\n# 導入\n\n手順を説明します。\n"
    home = make_repository(
        desk, {"README.md": b"# App\n\nWhat it does.", "docs/guide.md": guide.encode(), "src/main.py": b"print(1)"}
    )
    source_id = await desk.add(home)
    first = await desk.sync(source_id)
    assert (first["added"], first["updated"], first["removed"], first["skipped_count"]) == (2, 0, 0, 0)
    name = f"mona/{home.name}"
    found = (await desk.ask("search_docs", query="導入の手順", tags=["guide"])).value["results"][0]
    assert (found["title"], found["file_path"]) == ("導入", f"{name}/docs/guide.md")
    assert found["url"].endswith("/docs/guide.md")
    again = await desk.sync(source_id)
    assert (again["unchanged"], again["added"], again["updated"]) == (2, 0, 0)
    desk.github.world.commit(home, {"README.md": b"# App\n\nChanged.", "new.txt": b"new"}, "Second")
    changed = await desk.sync(source_id)
    assert (changed["added"], changed["updated"], changed["unchanged"]) == (1, 1, 1)
    listed = (await desk.ask("list_sources")).value["sources"]
    assert [one["last_run"]["added"] for one in listed if one["source_id"] == source_id] == [1]
    removed = (await desk.ask("remove_source", source_id=source_id)).value
    assert removed["documents"] == 3
    assert [path for path in await desk.paths() if path.startswith(name)] == []


async def test_what_is_gone_is_removed(desk: Desk) -> None:
    home = make_repository(desk, {"a.md": b"one", "b.md": b"two"})
    source_id = await desk.add(home)
    await desk.sync(source_id)
    desk.github.world.commit(home, {"b.md": None}, "Delete")
    report = await desk.sync(source_id)
    assert (report["removed"], report["unchanged"]) == (1, 1)
    assert [path for path in await desk.paths() if home.name in path] == [f"mona/{home.name}/a.md"]


async def test_what_a_truncated_list_has_not_stays(desk: Desk) -> None:
    home = make_repository(desk, {"a.md": b"one", "b.md": b"two"})
    source_id = await desk.add(home)
    await desk.sync(source_id)
    home.is_huge = True
    report = await desk.sync(source_id)
    assert (report["is_complete"], report["removed"], report["unchanged"]) == (False, 0, 1)
    assert len([path for path in await desk.paths() if home.name in path]) == 2


async def test_what_cannot_be_read_is_told(desk: Desk) -> None:
    home = make_repository(
        desk, {"a.md": b"good", "binary.md": b"\x89PNG\r\n\x1a\n\x00\x00\xff\xd8\x81", "empty.md": b""}
    )
    report = await desk.sync(await desk.add(home))
    assert report["added"] == 1
    assert {one["file_path"].rsplit("/", 1)[1] for one in report["skipped"]} == {"binary.md", "empty.md"}
    assert all(one["reason"] for one in report["skipped"])


async def test_two_sources_of_one_path_do_not_take_it_from_each_other(desk: Desk) -> None:
    home = make_repository(desk, {"a.md": b"one"})
    path = f"mona/{home.name}/a.md"
    first, second = await desk.add(home), await desk.add(home)
    await desk.sync(first)
    report = await desk.sync(second)
    assert (report["added"], report["updated"], report["skipped_count"]) == (0, 0, 1)
    assert report["skipped"][0]["file_path"] == path
    await desk.ask("remove_source", source_id=second)
    assert path in await desk.paths()


async def test_a_source_is_ones_own(desk: Desk) -> None:
    home = make_repository(desk, {"a.md": b"secret"}, private=True)
    source_id = await desk.add(home)
    for tool in ("sync_documents", "remove_source"):
        answer = await desk.ask(tool, desk.app.eve, source_id=source_id)
        assert "you have no source of this id" in answer.text
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    added = (await desk.ask("add_source", desk.app.eve, source=place)).value
    refused = await desk.ask("sync_documents", desk.app.eve, source_id=added["source_id"])
    assert refused.failed
    assert "no such repository" in refused.text
    assert (await desk.ask("search_docs", desk.app.eve, query="secret")).text == "No matching documents found."


async def test_it_needs_the_permission_for_what_it_reads_by(desk: Desk) -> None:
    home = make_repository(desk, {"a.md": b"x"})
    limited = await desk.app.product.person(desk.app.ada.tenant, "limited@acme.test", allow=["rag.*"])
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    added = (await desk.ask("add_source", limited, source=place)).value
    refused = await desk.ask("sync_documents", limited, source_id=added["source_id"])
    assert "needs github.get_repository_tree, which you cannot use" in refused.text


async def test_a_shared_collection_asks_for_consent(desk: Desk) -> None:
    home = make_repository(desk, {"a.md": b"x"})
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    ada = desk.app.ada
    await change_user(desk.app.product.console, ACTOR, ada.tenant.id, ada.id, system_role="admin")
    await desk.ask("create_collection", name="handbook", owner="tenant")
    refused = await desk.ask("add_source", source=place, collection="handbook")
    assert refused.failed
    assert "Everybody who reads the collection handbook will see what your account sees" in refused.text
    assert not (await desk.ask("add_source", source=place, collection="handbook", share=True)).failed


async def test_documents_of_a_source_go_with_its_person(desk: Desk) -> None:
    """From a shared collection at the next purge; what others have put there stays, and so does another tenant's."""
    home = make_repository(desk, {"a.md": "議事録 roadmap".encode(), "b.md": b"roadmap"})
    ada, console, deployment = desk.app.ada, desk.app.product.console, desk.app.product.deployment
    bob = await desk.app.product.person(ada.tenant, "bob@acme.test", allow=["*"])
    for person in (ada, bob):
        await change_user(console, ACTOR, ada.tenant.id, person.id, system_role="admin")
    await desk.app.connect(bob, "hubot-token")
    await desk.ask("create_collection", name="plans", owner="tenant")
    place = {"kind": "github", "repository": f"mona/{home.name}"}
    added = (await desk.ask("add_source", bob, source=place, collection="plans", share=True)).value
    await desk.sync(added["source_id"], bob)
    await desk.ask("index_doc", file_path="kept.md", text="roadmap", collection="plans")
    await desk.ask("index_doc", desk.app.eve, file_path="other.md", text="roadmap")

    async def look() -> tuple[set[str], int]:
        found = (await desk.ask("search_docs", query="roadmap", collections=["plans"])).value["results"]
        listed = (await desk.ask("list_collections")).value["collections"]
        return {one["file_path"] for one in found}, sum(one["documents"] for one in listed if one["name"] == "plans")

    assert await look() == ({f"mona/{home.name}/a.md", f"mona/{home.name}/b.md", "kept.md"}, 3)
    await purge_deleted(deployment.admin, is_embedded=False)
    assert (await look())[1] == 3
    await remove_user(console, ACTOR, ada.tenant.id, bob.id)
    await purge_deleted(deployment.admin, is_embedded=False)
    assert await look() == ({"kept.md"}, 1)
    assert not (await desk.ask("get_doc", desk.app.eve, file_path="other.md")).failed


async def test_another_model_is_refused_where_there_is_none(desk: Desk) -> None:
    """Nothing is lost: the collection keeps the model that it has."""
    await desk.ask("index_doc", file_path="tea.md", text="Green tea is brewed at 80 degrees.")
    for model, problem in (("no-such-model", "no embedding model no-such-model"), ("voyage-3-lite", "key")):
        answer = await desk.ask("change_embedding_model", collection="documents", model=model)
        assert answer.failed
        assert problem in answer.text
    listed = (await desk.ask("list_collections")).value["collections"]
    assert [one["embedding_model"] for one in listed if one["name"] == "documents"] == ["use-multilingual-v3"]
    assert (await desk.ask("search_docs", query="tea")).value["results"]


WRONG_PLACES: list[dict[str, Any]] = [
    {"kind": "github", "repository": "no slash"},
    {"kind": "github", "repository": "a/b/c"},
    {"kind": "confluence"},
    {"kind": "elsewhere"},
    {"kind": "notion", "space": "x"},
]


async def test_a_wrong_place_is_named(desk: Desk) -> None:
    for place in WRONG_PLACES:
        answer = await desk.ask("add_source", source=place)
        assert answer.failed, place
        assert len(answer.text) < 1_000
