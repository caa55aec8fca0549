"""Short ids of tasks: made whole by the list that every tool takes beside them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.kit import ToolError
from modules.microsoft_todo.task_ids import expand_task_id, shorten_task_id
from tests.support.tokens import tokens

# As Graph makes them, for one mailbox.
LIST = "AQMkADAwATM0MDAAMS0yMDkyLWVjMzYtMDACLTAwCgAuAAADQ7oTXAIUXUuJWxJLHNqQtgEAewlK9kPzzE2a5LnZE2lOlwAAAgESAAAA"
TASK = f"{LIST[:42]}BGAAADQ7oTXAIUXUuJWxJLHNqQtgcAewlK9kPzzE2a5LnZE2lOlwAAAgESAAAAewlK9kPzzE2a5LnZE2lOlwAFRKq7AAAA"
ID_SIGNS = "ABab01+/=_.!-"


def test_an_id_becomes_short_and_whole_again() -> None:
    short = shorten_task_id(TASK, LIST)
    assert expand_task_id(short, LIST) == TASK
    assert expand_task_id(TASK, LIST) == TASK
    assert tokens(short) * 3 <= tokens(TASK)
    assert shorten_task_id("x1", LIST) == "x1", "what has nothing in common stays"


@settings(deadline=None, max_examples=300)
@given(text=st.text(ID_SIGNS, max_size=60), parts=st.lists(st.integers(0, 100), max_size=6), more=st.text(ID_SIGNS))
def test_any_id_comes_back(text: str, parts: list[int], more: str) -> None:
    task_id = text + "".join(LIST[start : start + 30] for start in parts) + more
    assert expand_task_id(shorten_task_id(task_id, LIST), LIST) == task_id
    assert expand_task_id(shorten_task_id(task_id, task_id), task_id) == task_id


@pytest.mark.parametrize("wrong", ["~", "~0,999", "~5,5", "~9,1.x", "~0,1000", "~a,b", "~x..y", "~,"])
def test_what_is_no_short_id_of_the_list_is_told(wrong: str) -> None:
    with pytest.raises(ToolError, match="none of this list's"):
        expand_task_id(wrong, LIST)


def test_a_short_id_never_becomes_a_long_path() -> None:
    assert len(expand_task_id("~" + ".".join(["0,100"] * 80), LIST)) <= 500
