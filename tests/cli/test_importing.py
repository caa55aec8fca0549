"""`mcpist import`: files of the official memory server and folders of basic-memory, here and at a server."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.failures import ToolCallError
from cli.moving_in.basic_memory import build_graph_lines, read_note
from cli.moving_in.graph_lines import MAX_PART_CHARS, GraphReport, send_lines
from cli.moving_in.markdown_folder import MarkdownDocument, list_markdown_files, read_document
from cli.moving_in.markdown_import import MAX_FAILURES_IN_A_ROW, MarkdownImport
from cli.moving_in.memory_file import import_memory_file
from core.errors import Unavailable
from tests.cli.conftest import Home

ADA = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "写真\u2028"]}
BOB = {"type": "entity", "name": "Bob", "entityType": "person", "observations": []}
KNOWS = {"type": "relation", "from": "Ada", "to": "Bob", "relationType": "knows"}
NOTE = """---
title: Coffee
type: guide
permalink: drinks/coffee
tags: [drinks, morning]
---

# Coffee

- [method] Pour over is slow #brewing (at home)
- [ ] buy a filter
- [x] drink it
- [a link](https://example.com) to somewhere
- contrasts_with [[Tea]]
- [[drinks/cups|Cups]]

```
- [not] an observation
```
"""


def write_lines(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


class Recorder:
    """A double of the tools: it keeps the calls, and refuses documents that have a word."""

    def __init__(self, refuses: str = "") -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.refuses = refuses

    def call(self, module: str, tool: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.calls.append((f"{module}.{tool}", params))
        if tool == "index_doc":
            if self.refuses and self.refuses in params["text"]:
                raise ToolCallError("no room")
            return {"version": 1}
        counts = dict.fromkeys(("observationsAdded", "relationsCreated", "relationsExisting", "refusedCount"), 0)
        return {"entitiesCreated": len(params["jsonl"].split("\n")), "entitiesUpdated": 0, **counts, "refused": []}

    @property
    def lines(self) -> list[Any]:
        texts = [params["jsonl"] for name, params in self.calls if name == "knowledge_graph.import_graph"]
        return [json.loads(line) for text in texts for line in text.split("\n")]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder as of basic-memory, with what is passed over."""
    folder = tmp_path / "vault"
    (folder / "drinks").mkdir(parents=True)
    (folder / "drinks/coffee.md").write_text(NOTE)
    (folder / "drinks/cups.md").write_bytes("\ufeff# Cups\r\n\r\n陶器".encode())
    (folder / "empty.md").write_text("---\ntitle: nothing\n---\n \n")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / "nul.md").write_text("a\x00b")
    (folder / "large.md").write_text("x" * 1_000_001)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian/notes.md").write_text("# hidden")
    (tmp_path / "secret.md").write_text("# secret")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "inside.md").symlink_to(folder / "drinks/cups.md")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    return folder


FAILED = {
    "empty.md": "is empty",
    "large.md": "has 1,000,001 characters, and the limit is 1,000,000",
    "latin.md": "is not UTF-8",
    "nul.md": "has the character U+0000, which no text has",
}
SKIPPED = {
    ".obsidian": "is hidden",
    "inside.md": "is a symbolic link",
    "loop": "is a symbolic link",
    "out.md": "is a symbolic link out of the folder",
    "pipe.md": "is no regular file",
}


def test_memory_is_written_into_the_graph_of_the_user(cli: Home, tenant: str, tmp_path: Path) -> None:
    unknown = {**KNOWS, "to": "Eve"}
    file = write_lines(tmp_path / "memory.jsonl", KNOWS, ADA, BOB, unknown)
    given = ("import", "memory", str(file), "--tenant", tenant)
    assert cli.run(*given, "--dry-run", "--json").json()["lines"] == 4
    ended = cli.run(*given, "--json")
    assert ended.code == 1
    report = json.loads(ended.out)
    assert report["refused"] == [{"place": "line 4", "reason": "there is no entity “Eve”"}]
    assert (report["entities_created"], report["observations_added"], report["relations_created"]) == (2, 2, 1)
    write_lines(file, KNOWS, ADA, BOB)
    again = cli.run(*given)
    assert again.code == 0
    assert again.out == (
        "Knowledge graph: 0 entities created, 2 updated; 0 observations added; 0 relations created, 1 existed; "
        "0 refused.\n"
    )
    exported = cli.run("call", "knowledge_graph", "export_graph", "--tenant", tenant, "--json").json()["jsonl"]
    assert [json.loads(line) for line in exported.split("\n") if line] == [ADA, BOB, KNOWS]


def test_at_a_server_with_a_token(cli: Home, tenant: str, tmp_path: Path) -> None:
    """What is imported is the token's owner's, and another tenant has none of it."""
    made = cli.run("token", "create", "--user", "ada@example.com", "--tenant", tenant, "--json").json()
    there = Home(tmp_path / "home", 1, {"MCPIST_SERVER": f"http://127.0.0.1:{cli.port}", "MCPIST_TOKEN": made["token"]})
    file = write_lines(tmp_path / "memory.jsonl", ADA, BOB, KNOWS)
    assert there.run("import", "memory", str(file), "--json").json()["entities_created"] == 2
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/tea.md").write_text("# Tea\n\nIs drunk hot.")
    stored = there.run("import", "markdown", str(tmp_path / "notes"), "--json").json()
    assert (stored["documents_stored"], stored["failed"]) == (1, [])
    read = ("call", "rag", "get_doc", "--params", '{"file_path": "tea.md"}', "--json")
    assert cli.run(*read, "--tenant", tenant).json()["title"] == "Tea"
    assert cli.run(*read, "--tenant", "default", "--user", "admin@localhost").code == 1
    assert there.run("import", "memory", str(file), "--tenant", "default").code == 2
    assert there.run("import", "memory", str(file), "--user", "ada@example.com").code == 2
    assert there.run("import", "memory", str(file), MCPIST_TOKEN=made["token"][:-4] + "AAAA").code in (2, 3)
    assert (
        cli.run(
            "call", "knowledge_graph", "read_graph", "--tenant", "default", "--user", "admin@localhost", "--json"
        ).json()["entities"]
        == []
    )


def test_a_token_that_may_only_read_writes_nothing(cli: Home, tenant: str, tmp_path: Path) -> None:
    words = ("token", "create", "--user", "ada@example.com", "--scope", "mcp:read", "--tenant", tenant, "--json")
    made = cli.run(*words).json()
    there = Home(tmp_path / "home", 1, {"MCPIST_SERVER": f"http://127.0.0.1:{cli.port}", "MCPIST_TOKEN": made["token"]})
    file = write_lines(tmp_path / "memory.jsonl", ADA)
    failed = there.run("import", "memory", str(file), "--json")
    assert failed.code in (3, 4)
    assert failed.error()["code"]
    assert cli.run("call", "knowledge_graph", "read_graph", "--tenant", tenant, "--json").json()["entities"] == []


def test_what_cannot_be_read(cli: Home, tenant: str, tmp_path: Path) -> None:
    for words in (("memory", "no-such"), ("memory", "."), ("markdown", "no-such"), ("markdown", "/dev/null")):
        failed = cli.run("import", words[0], str(tmp_path / words[1]), "--tenant", tenant, "--json")
        assert failed.code == 2
        assert failed.error()["code"] == "invalid"


def test_an_empty_file(cli: Home, tenant: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert cli.run("import", "memory", str(tmp_path / "empty"), "--tenant", tenant, "--json").json()["lines"] == 0


def import_lines(path: Path, caller: Recorder) -> GraphReport:
    report = GraphReport()
    import_memory_file(path, caller, report, lambda _: None)
    return report


def test_relations_come_last_and_odd_lines_are_told_by_their_number(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    lines = [
        json.dumps(KNOWS).encode(),
        b"caf\xe9",
        b"",
        json.dumps(ADA).encode() + b"\r",
        b"[" * 5_000,
        b'{"a":"\\ud800"}',
    ]
    file.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    recorder = Recorder()
    report = import_lines(file, recorder)
    first, last = (params["jsonl"].split("\n") for _, params in recorder.calls)
    assert [json.loads(first[0])["name"], len(first[1]), first[2]] == ["Ada", 5_000, '{"a":"\\ud800"}']
    assert [json.loads(line) for line in last] == [KNOWS]
    assert [(one.place, one.reason) for one in report.refused] == [("line 2", "is not UTF-8")]


def test_an_entity_of_four_megabytes_is_divided(cli: Home, tenant: str, tmp_path: Path) -> None:
    """Its observations keep their order and numbers, and one that is too long is told."""
    texts = [f"{number} " + "x" * 1_900 for number in range(2_100)]
    texts[1_500] = "y" * 3_000
    file = write_lines(tmp_path / "memory.jsonl", {**ADA, "observations": texts})
    assert file.stat().st_size > 3_900_000
    report = json.loads(cli.run("import", "memory", str(file), "--tenant", tenant, "--json").out)
    assert report["observations_added"] == 2_099
    assert [one["place"] for one in report["refused"]] == ["line 1, observation 1501"]


def test_a_line_that_fits_no_call_is_told(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "memory.jsonl", {**ADA, "entityType": "t" * MAX_PART_CHARS, "observations": 1}, BOB)
    recorder = Recorder()
    report = import_lines(file, recorder)
    assert [one.place for one in report.refused] == ["line 1"]
    assert recorder.lines == [BOB]


def test_100000_lines_are_sent_in_few_calls(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(
        "\n".join(f'{{"type":"entity","name":"{n}","entityType":"t","observations":[]}}' for n in range(100_000))
    )
    recorder = Recorder()
    report = import_lines(file, recorder)
    assert report.counts["entities_created"] == 100_000
    assert 25 < len(recorder.calls) < 40
    assert all(len(params["jsonl"]) <= MAX_PART_CHARS for _, params in recorder.calls)


def test_an_answer_of_another_form_is_an_error() -> None:
    class Other(Recorder):
        def call(self, module: str, tool: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"result": "kept"}

    note = read_note(MarkdownDocument("a.md", "A", (), "", "", ""))
    with pytest.raises(Unavailable):
        send_lines(build_graph_lines([note]), Other(), GraphReport(), lambda _: None)


def test_documents_and_what_is_passed_over(vault: Path) -> None:
    recorder = Recorder()
    found = MarkdownImport(vault, "notes", with_graph=False)
    found.run(recorder, lambda _: None)
    assert [name for name, _ in recorder.calls] == ["rag.index_doc"] * 2
    coffee, cups = (params for _, params in recorder.calls)
    assert coffee == {
        "file_path": "drinks/coffee.md",
        "text": NOTE,
        "title": "Coffee",
        "tags": ["drinks", "morning"],
        "collection": "notes",
    }
    assert (cups["title"], cups["text"]) == ("Cups", "# Cups\n\n陶器")
    assert {one.place: one.reason for one in found.failed} == FAILED
    assert {one.place: one.reason for one in found.skipped} == SKIPPED


def test_the_graph_of_notes(vault: Path) -> None:
    recorder = Recorder()
    MarkdownImport(vault, None, with_graph=True).run(recorder, lambda _: None)
    assert recorder.lines == [
        {
            "type": "entity",
            "name": "Coffee",
            "entityType": "guide",
            "observations": ["[method] Pour over is slow #brewing (at home)"],
        },
        {"type": "entity", "name": "Cups", "entityType": "note", "observations": []},
        {"type": "relation", "from": "Coffee", "to": "Tea", "relationType": "contrasts_with"},
        {"type": "relation", "from": "Coffee", "to": "Cups", "relationType": "relates_to"},
    ]


def test_a_refused_document_is_told_and_the_others_are_stored(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.md").write_text("bad" if number % 2 else "good")
    found = MarkdownImport(tmp_path, None, with_graph=False)
    found.run(Recorder(refuses="bad"), lambda _: None)
    assert (found.stored, [one.reason for one in found.failed]) == (4, ["no room"] * 4)


def test_one_refused_document_after_another_ends_the_import(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.md").write_text("good" if number < 2 else "bad")
    recorder = Recorder(refuses="bad")
    found = MarkdownImport(tmp_path, None, with_graph=False)
    with pytest.raises(ToolCallError):
        found.run(recorder, lambda _: None)
    assert (found.stored, len(recorder.calls)) == (2, 2 + MAX_FAILURES_IN_A_ROW)


def names_of_odd_files(folder: Path) -> Iterator[bytes]:
    yield b"caf\xe9.md"
    yield b"\xf0\x9f\x8e\x89.md"
    yield b"line\nbreak.md"


def test_odd_names_of_files(tmp_path: Path) -> None:
    for name in names_of_odd_files(tmp_path):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text")
    files, _ = list_markdown_files(tmp_path)
    read = [read_document(tmp_path, path) for path in files]
    assert [one if isinstance(one, str) else one.title for one in read] == [
        "its name is not UTF-8",
        "line\nbreak",
        "🎉",
    ]


def test_documents_are_found_once_they_are_imported(cli: Home, tenant: str, vault: Path) -> None:
    given = ("import", "markdown", str(vault), "--graph", "--tenant", tenant)
    dry = cli.run(*given, "--dry-run")
    assert (dry.code, dry.out.split("\n")[0]) == (1, "Would store 2 documents; 4 failed, 5 skipped.")
    assert "  Failed: latin.md: is not UTF-8\n" in dry.out
    assert "Would send 4 lines to the knowledge graph.\n" in dry.out
    ended = cli.run(*given, "--json")
    assert ended.code == 1, ended.err
    report = json.loads(ended.out)
    assert {one["path"]: one["reason"] for one in report["failed"]} == FAILED
    assert {one["path"]: one["reason"] for one in report["skipped"]} == SKIPPED
    assert report["documents_stored"] == 2
    assert report["graph"]["refused"] == [{"place": "drinks/coffee.md", "reason": "there is no entity “Tea”"}]
    query = json.dumps({"query": "brewing"})
    found = cli.run("call", "rag", "search_keyword", "--params", query, "--tenant", tenant, "--json").json()
    assert found["results"][0]["file_path"] == "drinks/coffee.md"
    assert found["results"][0]["tags"] == ["drinks", "morning"]
