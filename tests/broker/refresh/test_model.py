"""The model in docs/refresh.pml and the code name the same steps; `make check` explores the model itself."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broker.refresh.claim import claim
from broker.refresh.decision import recover
from broker.refresh.outcome import StoreResult, store
from broker.refresh.reauth import handle_refusal
from broker.refresh.refresher import present
from tests.broker.refresh.test_fault_matrix import POINTS

ROOT = Path(__file__).resolve().parents[3]
MODEL = (ROOT / "docs" / "refresh.pml").read_text()


def test_every_file_that_the_model_names_is_there() -> None:
    named = set(re.findall(r"broker/refresh/[a-z_]+\.py", MODEL))
    assert named == {f"broker/refresh/{name}.py" for name in ("claim", "refresher", "outcome", "reauth", "decision")}
    assert all((ROOT / name).exists() for name in named)


def test_the_outcomes_of_a_store_are_those_of_the_model() -> None:
    named = set(re.findall(r"/\* ([A-Z_]+) +\*/", MODEL))
    assert named <= {one.name for one in StoreResult}
    assert {one.name for one in StoreResult} - named == {"GONE"}, "the model has no disconnecting"


def test_the_model_kills_where_the_fault_table_does() -> None:
    named = re.findall(r"\[(\w+)\]", MODEL.partition("proctype broker")[2].partition("init {")[0])
    assert set(POINTS) <= set(named)
    assert [name for name in named if name in POINTS] == list(POINTS), "and in the same order"


@pytest.mark.parametrize("step", [claim, present, recover, store, handle_refusal])
def test_the_steps_have_their_functions(step: Callable[..., Any]) -> None:
    """The words of the model are the names of the functions that do it."""
    assert re.search(rf"\b{step.__name__}\b", MODEL)
    assert step.__module__.startswith("broker.refresh.")
