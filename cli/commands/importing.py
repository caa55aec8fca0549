"""`mcpist import`: bring what other memories keep into your own, by the tools that a client would call."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.failures import CommandExit
from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result
from cli.progress import show_progress
from core.errors import MCPistError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.client.mcp_tools import ToolCaller
    from cli.moving_in.graph_lines import GraphReport, RefusedEntry
    from cli.moving_in.item_file import ItemReport
    from cli.moving_in.markdown_import import MarkdownImport
    from cli.progress import Report

    Work = Callable[[ToolCaller | None, Report], None]

app = create_group("Bring memories and documents of other programs into your own.")

MAX_SHOWN = 20

UserOption = Annotated[
    str | None,
    typer.Option("--user", metavar="EMAIL", help="Whose, on this machine; default: the only administrator's."),
]
WorkspaceOption = Annotated[
    str | None, typer.Option("--workspace", metavar="NAME", help="Where to; default your own workspace.")
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Change items that are there, instead of refusing what has their key.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only read and count; nothing is sent.")]


@app.command("memory", epilog="Example: mcpist import memory ~/memory.jsonl --server https://mcp.acme.example")
def memory(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="memory.jsonl of the official MCP memory server.")],
    dry_run: DryRunOption = False,
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the graph of the official MCP memory server to your knowledge graph.

    Run again, it adds nothing twice. Exit code 1 means that some of it was refused.
    """
    from cli.moving_in.graph_lines import GraphReport
    from cli.moving_in.memory_file import import_memory_file

    report = GraphReport()

    def work(caller: "ToolCaller | None", tell: "Report") -> None:
        import_memory_file(file, caller, report, tell)

    stopped = _run_import(work, lambda: report.lines > 0, dry_run=dry_run, user=user, tenant=tenant)
    document = {"dry_run": dry_run, "stopped": _explain(stopped), "lines": report.lines, **report.to_document()}
    print_result(as_json, document, lambda: _print_graph(report, dry_run))
    _end(stopped, as_json, has_refused=report.counts["refused_count"] > 0)


@app.command("markdown", epilog="Example: mcpist import markdown ~/basic-memory --graph --dry-run")
def markdown(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Markdown files, as of basic-memory.")],
    graph: Annotated[
        bool, typer.Option("--graph", help="Write notes, observations and relations into the knowledge graph, too.")
    ] = False,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Where to; default your own documents.")
    ] = None,
    dry_run: DryRunOption = False,
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a folder of Markdown files as documents that are searched.

    A document has the file's path, and its title and tags from the front matter. Run again, it replaces what it stored.
    Exit code 1 means that a file was not stored, or a line refused.
    """
    from cli.moving_in.markdown_import import MarkdownImport

    found = MarkdownImport(folder, collection, with_graph=graph)
    stopped = _run_import(found.run, lambda: found.has_written, dry_run=dry_run, user=user, tenant=tenant)
    document = {"dry_run": dry_run, "stopped": _explain(stopped), **found.to_document()}
    print_result(as_json, document, lambda: _print_documents(found, dry_run))
    _end(stopped, as_json, has_refused=found.has_refused)


@app.command("items", epilog="Example: mcpist import items ~/items.jsonl --workspace plans --dry-run")
def items(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON Lines, an item or statuses each.")],
    workspace: WorkspaceOption = None,
    replace: ReplaceOption = False,
    dry_run: DryRunOption = False,
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create items with the keys, relations, tags and statuses that a file has.

    Exit code 1 means that a line was refused. Run again with --replace, it changes what it created.
    """
    from cli.moving_in.item_file import ItemLinesImport, read_item_file

    found = ItemLinesImport(lambda: read_item_file(file), workspace, replaces=replace)
    report = found.report
    stopped = _run_import(found.run, lambda: report.lines > 0, dry_run=dry_run, user=user, tenant=tenant)
    document = {"dry_run": dry_run, "stopped": _explain(stopped), "lines": report.lines, **report.to_document()}
    print_result(as_json, document, lambda: _print_items(report, dry_run))
    _end(stopped, as_json, has_refused=report.counts["refused_count"] > 0)


@app.command("shirokuma", epilog="Example: mcpist import shirokuma ~/project/docs/export --dry-run")
def shirokuma(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Its data folder (up to 0.7), or what its export has written.")
    ],
    workspace: WorkspaceOption = None,
    replace: ReplaceOption = False,
    dry_run: DryRunOption = False,
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create the items of a Shirokuma knowledge base, with their ids and relations, and its current state.

    Exit code 1 means that a file was refused. Run again with --replace, it changes what it created.
    """
    from cli.moving_in.shirokuma_import import ShirokumaImport

    found = ShirokumaImport(folder, workspace, replaces=replace)
    report = found.report
    stopped = _run_import(found.run, lambda: report.lines > 0, dry_run=dry_run, user=user, tenant=tenant)
    document = {
        "dry_run": dry_run,
        "stopped": _explain(stopped),
        "lines": report.lines,
        "has_state": found.has_state,
        **report.to_document(),
    }

    def print_text() -> None:
        _print_items(report, dry_run)
        if found.has_state:
            print_line("Would take over the current state." if dry_run else "The current state was taken over.")

    print_result(as_json, document, print_text)
    _end(stopped, as_json, has_refused=report.counts["refused_count"] > 0)


def _run_import(
    work: "Work", has_written: "Callable[[], bool]", *, dry_run: bool, user: str | None, tenant: str | None
) -> MCPistError | None:
    """Run an import; return the error that stopped it, where a part was written before.

    Raises:
        MCPistError: nothing was written.
    """
    from cli.tool_callers import run_with_tools

    def run(caller: "ToolCaller | None", tell: "Report") -> MCPistError | None:
        try:
            work(caller, tell)
        except MCPistError as error:
            if not has_written():
                raise
            return error
        return None

    if dry_run:
        with show_progress() as (tell, _):
            return run(None, tell)
    return run_with_tools(run, user=user, tenant=tenant)


def _end(stopped: MCPistError | None, as_json: bool, *, has_refused: bool) -> None:
    """Say what stopped the import, and end with the exit code."""
    if stopped is not None:
        if not as_json:
            print_note(f"Stopped: {stopped}. What is above was written; run the same command again to go on.")
        raise CommandExit(stopped.exit_code)
    if has_refused:
        raise CommandExit(1)


def _explain(stopped: MCPistError | None) -> str | None:
    return None if stopped is None else str(stopped)


def _print_graph(report: "GraphReport", dry_run: bool) -> None:
    counts = report.counts
    if dry_run:
        print_line(f"Would send {report.lines} lines to the knowledge graph.")
    else:
        print_line(
            f"Knowledge graph: {counts['entities_created']} entities created, {counts['entities_updated']} updated; "
            f"{counts['observations_added']} observations added; {counts['relations_created']} relations created, "
            f"{counts['relations_existing']} existed; {counts['refused_count']} refused."
        )
    _print_refused("Refused", report.refused, counts["refused_count"])


def _print_items(report: "ItemReport", dry_run: bool) -> None:
    counts = report.counts
    if dry_run:
        print_line(f"Would send {report.lines} lines of items.")
    else:
        print_line(
            f"Items: {counts['created']} created, {counts['updated']} changed, {counts['relations']} relations; "
            f"{counts['refused_count']} refused."
        )
        if report.pending:
            print_line(
                f"Searches by meaning do not know {report.pending} items yet: each indexes some, and the tool "
                "index_items all of them, as a job."
            )
    _print_refused("Refused", report.refused, counts["refused_count"])


def _print_documents(found: "MarkdownImport", dry_run: bool) -> None:
    verb = "Would store" if dry_run else "Stored"
    print_line(f"{verb} {found.stored} documents; {len(found.failed)} failed, {len(found.skipped)} skipped.")
    _print_refused("Failed", found.failed, len(found.failed))
    _print_refused("Skipped", found.skipped, len(found.skipped))
    if found.graph is not None:
        _print_graph(found.graph, dry_run)


def _print_refused(word: str, refused: "Sequence[RefusedEntry]", total: int) -> None:
    for one in refused[:MAX_SHOWN]:
        print_line(f"  {word}: {one.place}: {one.reason}")
    if total > MAX_SHOWN:
        print_line(f"  … and {total - MAX_SHOWN} more; --json names those that the server tells.")
