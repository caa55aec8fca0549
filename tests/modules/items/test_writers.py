"""Many writers of one item and one workspace: nothing is lost, and each is told whose change theirs replaced."""

import asyncio
from typing import Any

from tests.modules.items.conftest import Office, refused
from tests.modules.items.test_sharing import BOARD

WRITERS = 10


async def test_ten_writers_of_one_item_lose_nothing(office: Office) -> None:
    await office.ada.call("create_workspace", name="board", owner="role", role="Team")
    await office.ada.call("create_item", type="task", title="t", workspace=BOARD)
    people = [office.ada, office.bob]
    fields = ["title", "description", "content", "category", "version"]

    async def write(number: int) -> dict[str, Any]:
        changes = {fields[number // 2]: f"by {number}"}
        return await people[number % 2].call("update_item", type="task", id=1, workspace=BOARD, **changes)

    answers = sorted(await asyncio.gather(*map(write, range(WRITERS))), key=lambda one: one["revision"])
    assert [one["revision"] for one in answers] == list(range(2, WRITERS + 2))
    authors = ["ada@mail.test", *(one["updated_by"] for one in answers)]
    for number, answer in enumerate(answers):
        before, own = authors[number], authors[number + 1]
        told = answer.get("replaced")
        assert (told and (told["revision"], told["updated_by"])) == (None if before == own else (number + 1, before))
    assert {"ada@mail.test", "bob@mail.test"} == set(authors)
    last = await office.ada.call("get_item_detail", type="task", id=1, workspace=BOARD)
    assert {**last, "replaced": None} == {**answers[-1], "replaced": None}
    for number, field in enumerate(fields):
        assert last[field] in {f"by {2 * number}", f"by {2 * number + 1}"}
    times = [one["updated_at"] for one in answers]
    assert times == sorted(times)


async def test_of_ten_writers_who_expect_a_revision_one_writes(office: Office) -> None:
    await office.ada.call("create_item", type="task", title="t")

    async def write(number: int) -> int:
        try:
            await office.ada.call("update_item", type="task", id=1, title=f"{number}", expected_revision=1)
        except Exception as error:  # noqa: BLE001 - told below
            return getattr(error, "code", 0) or 0
        return 0

    assert sorted(await asyncio.gather(*map(write, range(WRITERS)))) == [0, *([1002] * (WRITERS - 1))]


async def test_numbers_and_first_workspaces_are_given_once(office: Office) -> None:
    made = await asyncio.gather(
        *(office.cat.call("create_item", type="task", title=f"{number}", tags=["x"]) for number in range(WRITERS))
    )
    assert sorted(one["id"] for one in made) == list(range(1, WRITERS + 1))
    (workspace,) = (await office.cat.call("list_workspaces"))["workspaces"]
    assert workspace["items"] == WRITERS
    states = await asyncio.gather(
        *(office.cat.call("update_current_state", content=f"{number}") for number in range(WRITERS))
    )
    assert sorted(one["metadata"]["revision"] for one in states) == list(range(1, WRITERS + 1))
    await asyncio.gather(*(office.cat.call("delete_item", type="task", id=one["id"]) for one in made))
    assert (await office.cat.call("list_workspaces"))["workspaces"][0]["items"] == 0
    assert (await refused(office.cat, "get_item_detail", type="task", id=1))[0] == 1001
