"""`mcpist import items`: a file of items with relations in any order, here and at a server."""

import json
from pathlib import Path
from typing import Any

from cli.moving_in.item_file import MAX_PART_CHARS, MAX_PART_LINES, ItemLinesImport, read_item_file
from tests.cli.conftest import Home

DOC = {"key": "doc-3", "title": "d", "related": ["task-7", "doc-99"]}
TASK = {"type": "task", "id": 7, "title": "出荷", "status": "Stuck", "related": ["doc-3"], "tags": ["x"]}
LOOSE = {"type": "note", "title": "n", "related": ["task-7"]}
STATUSES = {"statuses": [{"name": "Stuck"}]}


def write_lines(path: Path, *lines: Any) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(texts), "utf-8")
    return path


class Recorder:
    """A double of the tool: it keeps the calls, and refuses lines that have a word."""

    def __init__(self, refuses: str = "") -> None:
        self.calls: list[dict[str, Any]] = []
        self.refuses = refuses

    def call(self, module: str, tool: str, params: Any) -> dict[str, Any]:
        assert (module, tool) == ("items", "import_items")
        self.calls.append(dict(params))
        lines = params["jsonl"].split("\n")
        refused = [
            {"line": number, "field": "title", "reason": "is odd"}
            for number, line in enumerate(lines, 1)
            if self.refuses and self.refuses in line
        ]
        return {"created": len(lines) - len(refused), "updated": 0, "relations": 0, "refused": refused}


def run(path: Path, caller: Recorder | None, *, replaces: bool = False, workspace: str | None = None) -> Any:
    found = ItemLinesImport(lambda: read_item_file(path), workspace, replaces=replaces)
    found.run(caller, lambda _: None)
    return found.report


def test_items_come_before_relations_and_items_without_a_key_last(tmp_path: Path) -> None:
    recorder = Recorder()
    report = run(write_lines(tmp_path / "x", LOOSE, DOC, "", TASK, STATUSES), recorder, workspace="plans")
    assert [[json.loads(line) for line in call["jsonl"].split("\n")] for call in recorder.calls] == [
        [{"key": "doc-3", "title": "d"}, {name: part for name, part in TASK.items() if name != "related"}, STATUSES],
        [{"key": "doc-3", "related": DOC["related"]}, {"key": "task-7", "related": ["doc-3"]}],
        [LOOSE],
    ]
    assert [call["replace"] for call in recorder.calls] == [False, True, False]
    assert {call["workspace"] for call in recorder.calls} == {"plans"}
    assert (report.lines, report.counts["created"]) == (4, 4)


def test_relations_of_a_refused_line_are_not_sent(tmp_path: Path) -> None:
    recorder = Recorder(refuses="出荷")
    report = run(write_lines(tmp_path / "x", DOC, TASK), recorder)
    assert json.loads(recorder.calls[1]["jsonl"])["key"] == "doc-3"
    assert [(one.place, one.reason) for one in report.refused] == [("line 2", "title is odd")]


def test_parts_are_bounded(tmp_path: Path) -> None:
    recorder = Recorder()
    many = [{"key": f"task-{number}", "title": "t"} for number in range(MAX_PART_LINES + 1)]
    long = [{"key": f"doc-{number}", "title": "t", "content": "x" * 100_000} for number in range(3)]
    report = run(write_lines(tmp_path / "x", *many, *long, {"key": "doc-9", "content": "x" * MAX_PART_CHARS}), recorder)
    assert max(len(call["jsonl"]) for call in recorder.calls) <= MAX_PART_CHARS
    assert [call["jsonl"].count("\n") + 1 for call in recorder.calls] == [MAX_PART_LINES, 2, 1, 1]
    assert [one.place for one in report.refused] == [f"line {len(many) + 4}"]


def test_a_dry_run_counts(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b'{"key": "a-1"}\ncaf\xe9\n')
    report = run(tmp_path / "x", None)
    assert (report.lines, report.refused[0].reason) == (1, "is not UTF-8")


def test_into_a_running_product(cli: Home, tenant: str, tmp_path: Path) -> None:
    file = str(write_lines(tmp_path / "items.jsonl", LOOSE, DOC, TASK, STATUSES, "no json"))
    ended = cli.run("import", "items", file, "--tenant", tenant, "--json")
    assert ended.code == 1
    told = json.loads(ended.out)
    assert (told["created"], told["updated"], told["relations"], told["refused_count"]) == (3, 0, 3, 2)
    assert [one["place"] for one in told["refused"]] == ["line 2", "line 5"]
    shown = cli.run("call", "items", "get_item_detail", "--params", '{"type": "doc", "id": 3}', "--tenant", tenant)
    assert json.loads(shown.out)["related"] == ["task-7"]
    again = cli.run("import", "items", file, "--tenant", tenant)
    assert (again.code, "is the key of an item that is there" in again.out) == (1, True)
    third = json.loads(cli.run("import", "items", file, "--tenant", tenant, "--replace", "--json").out)
    assert (third["created"], third["updated"], third["relations"]) == (1, 2, 3)
    assert cli.run("import", "items", str(tmp_path / "none"), "--tenant", tenant).code == 2
