"""Files of a folder, stored one by one; then, if wanted, the graph that they describe."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.failures import ToolCallError
from cli.moving_in.basic_memory import Note, build_graph_lines, read_note
from cli.moving_in.graph_lines import GraphReport, RefusedEntry, send_lines
from cli.moving_in.markdown_folder import MarkdownDocument, list_markdown_files, read_document

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller

MAX_FAILURES_IN_A_ROW = 5
"""Refused documents, after which the reason is not in them."""


class MarkdownImport:
    """One import of a folder, and its report. `failed` are documents that could not be stored; `skipped` is what was
    passed over on purpose."""

    def __init__(self, folder: Path, collection: str | None, *, with_graph: bool) -> None:
        self._folder = folder
        self._collection = collection
        self._with_graph = with_graph
        self.stored = 0
        self.skipped: list[RefusedEntry] = []
        self.failed: list[RefusedEntry] = []
        self.graph: GraphReport | None = GraphReport() if with_graph else None

    @property
    def has_refused(self) -> bool:
        return bool(self.failed) or (self.graph is not None and self.graph.counts["refused_count"] > 0)

    @property
    def has_written(self) -> bool:
        return self.stored > 0

    def run(self, caller: "ToolCaller | None", tell: Callable[[str], None]) -> None:
        """Store every document; without a `caller` only read and count.

        Raises:
            Invalid: the folder cannot be read.
            core.errors.MCPistError: the server is away, or refuses one document after another.
        """
        files, self.skipped = list_markdown_files(self._folder)
        notes: list[Note] = []
        in_a_row = 0
        for nth, path in enumerate(files, 1):
            tell(f"{nth} of {len(files)} files")
            document = read_document(self._folder, path)
            if isinstance(document, str):
                self.failed.append(RefusedEntry(path.relative_to(self._folder).as_posix(), document))
                continue
            try:
                self._store(document, caller)
                in_a_row = 0
            except ToolCallError as error:
                self.failed.append(RefusedEntry(document.path, str(error)))
                in_a_row += 1
                if in_a_row == MAX_FAILURES_IN_A_ROW:
                    raise
            if self._with_graph:
                notes.append(read_note(document))
        if self.graph is not None:
            send_lines(build_graph_lines(notes), caller, self.graph, tell)

    def to_document(self) -> dict[str, Any]:
        """Build the JSON report."""
        return {
            "documents_stored": self.stored,
            "failed": [{"path": one.place, "reason": one.reason} for one in self.failed],
            "skipped": [{"path": one.place, "reason": one.reason} for one in self.skipped],
            "graph": None if self.graph is None else {"lines": self.graph.lines, **self.graph.to_document()},
        }

    def _store(self, document: MarkdownDocument, caller: "ToolCaller | None") -> None:
        if caller is not None:
            params = {
                "file_path": document.path,
                "text": document.text,
                "title": document.title,
                "tags": list(document.tags),
            }
            if self._collection is not None:
                params["collection"] = self._collection
            caller.call("rag", "index_doc", params)
        self.stored += 1
