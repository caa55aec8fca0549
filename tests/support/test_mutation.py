"""Leaks are found and named, though the mutants of many statements share a story."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.mutation import Mutator, divide_into_rounds, find_leaks, together_and_alone

ONE = "SELECT one WHERE tenant_id = $1 AND user_id = $2"
TWO = "SELECT two WHERE tenant_id = $1"
THREE = "DELETE FROM three WHERE user_id = $2"


def noted() -> Mutator:
    return Mutator(seen=dict.fromkeys((ONE, TWO, THREE)))


def tell_unless(leaking: Callable[[list[str]], bool]) -> tuple[list[list[str]], Callable[[Mutator], Awaitable[Any]]]:
    """A story that fails where what is sent leaks; and what is sent, for each story."""
    sent: list[list[str]] = []

    async def tell(mutator: Mutator) -> str:
        sent.append([mutator.passed(one) for one in (ONE, TWO, THREE)])
        assert not leaking(sent[-1])
        return "told"

    return sent, tell


def test_every_mutant_is_in_one_round() -> None:
    mutants = list(noted().mutants())
    assert len(mutants) == 5, "each filter of the first, and both; the others' filters"
    rounds = divide_into_rounds(mutants)
    assert [len(one) for one in rounds] == [3, 1, 1]
    assert sorted(pair for one in rounds for pair in one.items()) == sorted(mutants)


async def test_where_nothing_leaks_few_stories_are_told() -> None:
    sent, tell = tell_unless(lambda _: False)
    assert await find_leaks(noted().mutants(), tell, "told", alone=False) == []
    assert len(sent) == 3
    assert {one for story in sent for one in story} >= {mutant for _, mutant in noted().mutants()}


@together_and_alone
async def test_what_leaks_is_named(alone: bool) -> None:
    wanted = [mutant for statement, mutant in noted().mutants() if statement != TWO][1:]
    _, tell = tell_unless(lambda sent: any(one in wanted for one in sent))
    assert sorted(await find_leaks(noted().mutants(), tell, "told", alone=alone)) == sorted(wanted)


async def test_what_leaks_only_together_is_found() -> None:
    _, tell = tell_unless(lambda sent: TWO not in sent and THREE not in sent)
    found = await find_leaks(noted().mutants(), tell, "told", alone=False)
    assert found == list(divide_into_rounds(noted().mutants())[0].values())


async def test_another_answer_is_a_leak() -> None:
    _, tell = tell_unless(lambda _: False)
    assert len(await find_leaks(noted().mutants(), tell, "something else", alone=False)) == 5


async def test_an_error_of_the_test_itself_is_none() -> None:
    async def tell(mutator: Mutator) -> None:
        raise TypeError

    with pytest.raises(TypeError):
        await find_leaks(noted().mutants(), tell, None, alone=False)
