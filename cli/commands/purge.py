"""`mcpist purge`: make deleted texts unreadable now."""

from typing import TYPE_CHECKING

import typer

from cli.options import JsonOption
from cli.output import print_line, print_result
from cli.progress import Report
from cli.runner import run_local
from core.errors import Unavailable

if TYPE_CHECKING:
    from core.config.settings import Settings
    from server.deletion_maintenance import PurgeResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("purge", epilog="Example: mcpist purge")(purge)


def purge(as_json: JsonOption = False) -> None:
    """Make deleted texts unreadable now, also in the database's files.

    MCPist does it by itself within 24 hours: documents, memos, items, the knowledge graph, activity and schedules.
    Tables that held something deleted are rewritten, and calls wait for it: a second for 2,000 passages or 12,500
    items. With the embedded database the write-ahead log goes, too. Backups keep what they have, and large results
    that were kept for their reader (module results) end when they expire.
    """

    async def work(settings: "Settings", report: Report) -> "PurgeResult":
        from server.data_folder import attach_database
        from server.deletion_maintenance import purge_deleted

        async with attach_database(settings, report) as deployment:
            report("Rewriting tables")
            return await purge_deleted(deployment.admin, is_embedded=settings.database_url is None)

    result = run_local(work)
    if result.postponed:
        raise Unavailable(
            f"{len(result.postponed)} tables are in use by long transactions, such as a backup; try again later. "
            f"Rewritten: {len(result.rewritten)}"
        )
    count = len(result.rewritten)
    text = f"Nothing deleted can be read any more; tables rewritten: {count}." if count else "There was nothing to do."
    print_result(as_json, {"rewritten": list(result.rewritten)}, lambda: print_line(text))
