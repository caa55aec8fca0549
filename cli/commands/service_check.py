"""`mcpist service check`: prove a module with an account of one's own."""

from typing import TYPE_CHECKING, Any

import typer

from cli.commands.call import UserOption, run_as_user
from cli.failures import CommandExit
from cli.options import JsonOption, ModuleName, TenantOption
from cli.output import print_result, print_table

if TYPE_CHECKING:
    from cli.progress import Report
    from server.local_call import LocalCaller
    from server.service_check import CheckedTool

SHOWN = {"ok": "ok", "refused": "refused", "misfit": "did not fit", "skipped": "skipped"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", epilog="Example: mcpist service check github --user ada@acme.example")(check)


def check(
    module: ModuleName, user: UserOption = None, tenant: TenantOption = None, as_json: JsonOption = False
) -> None:
    """Run each reading tool of a module once with a user's own account, and tell which answers did not fit.

    Nothing is changed at the vendor, and no contents are shown: only names of tools and fields. Ids come from earlier
    answers. The calls count and are recorded as any others. Exit code 1 if an answer did not fit or was refused.
    """

    async def work(caller: "LocalCaller", _: "Report") -> "list[CheckedTool]":
        from core.errors import NotFound
        from server.service_check import ServiceCheck

        tools = caller.list_tools(module)
        if not tools:
            raise NotFound("no such module for this user; `mcpist schema` shows those that they can use")
        return await ServiceCheck(tools, lambda name, arguments: caller.call(module, name, arguments)).run()

    checked: list[CheckedTool] = run_as_user(work, user, tenant)
    document: dict[str, Any] = {
        "module": module,
        "tools": [
            {"tool": one.tool, "state": one.state, "reason": one.reason, "misfits": list(one.misfits)}
            for one in checked
        ],
    }
    rows = [(one.tool, SHOWN[one.state], "\n".join((*one.misfits, one.reason)).strip()) for one in checked]
    columns = ("Tool", "Answer", "Why")
    print_result(
        as_json, document, lambda: print_table(columns, rows, empty="This user may use no reading tool of the module.")
    )
    if any(one.state in ("refused", "misfit") for one in checked):
        raise CommandExit(1)
