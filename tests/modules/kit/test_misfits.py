"""What `mcpist service check` is told of answers that do not fit: names of our fields, nothing of the vendor's."""

from typing import Annotated, Any

import orjson
import pytest

from modules.kit import VendorAnswer, VendorProblem
from modules.kit.misfits import collect_misfits
from modules.kit.results import Line, ResultModel, read_at, read_object, read_rows


class Row(ResultModel):
    number: int
    user: Annotated[Line, read_at("user", "login")] = ""
    labels: dict[str, int] = {}  # noqa: RUF012


ROWS: list[Any] = [{"number": 1}, {"number": "s3cret"}, {"number": 2, "labels": {"s3cret": "x"}}]


async def test_paths_hold_names_of_ours_only() -> None:
    answer = VendorAnswer(200, {}, orjson.dumps(ROWS), write=False)
    with collect_misfits() as misfits:
        await read_rows(answer, Row, ROWS)
        with pytest.raises(VendorProblem):
            answer.read(list[Row])
    assert set(misfits) == {
        "number: int_parsing", "labels.*: int_parsing", "*.number: int_parsing", "*.labels.*: int_parsing"
    }  # fmt: skip


def test_nothing_is_noted_without_a_collector_or_a_misfit() -> None:
    answer = VendorAnswer(200, {}, b'{"number": 1}', write=False)
    with collect_misfits() as misfits:
        assert read_object(answer, Row).number == 1
    with pytest.raises(VendorProblem):
        answer.read(list[Row])
    assert not misfits
