"""`mcpist call` and `mcpist schema`: use the tools as a user would, without a client."""

from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from cli.failures import ToolCallError
from cli.json_input import read_object
from cli.options import JsonOption, TenantOption
from cli.output import format_json, print_line, print_result
from cli.runner import run_local
from core.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cli.progress import Report
    from core.config.settings import Settings
    from server.local_call import LocalCaller

UserOption = Annotated[
    str | None, typer.Option("--user", metavar="EMAIL", help="The user to act as; default: the only administrator.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("call", epilog='Example: mcpist call knowledge_graph search --params \'{"query": "Ada"}\'')(call)
    app.command("schema", epilog="Example: mcpist schema knowledge_graph --user ada@acme.example")(schema)


def call(
    module: Annotated[str, typer.Argument(metavar="MODULE", help="The module's name.")],
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")],
    params: Annotated[
        str,
        typer.Option("--params", metavar="JSON|@FILE|-", help="Its arguments: JSON, a file, or - for standard input."),
    ] = "{}",
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool as a user.

    It takes the same way as a client's call: the same permissions, the same checks, the same audit log.
    """
    arguments = read_object(params, "--params")

    async def work(caller: "LocalCaller", _: "Report") -> Any:
        from gateway.tool_runner import NO_SUCH_TOOL

        outcome = await caller.call(module, tool, arguments)
        if outcome.error == NO_SUCH_TOOL:
            raise NotFound("no such tool for this user; `mcpist schema` shows those that they can use")
        if outcome.result is None:
            raise ToolCallError(outcome.error or "the tool failed")
        return outcome.result.model_dump(mode="json", by_alias=True)

    result = run_as_user(work, user, tenant)
    print_result(as_json, result, lambda: print_line(format_json(result)))


def schema(
    module: Annotated[str | None, typer.Argument(metavar="MODULE", help="The module; none lists them all.")] = None,
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show modules and tools as a user sees them.

    Without a module it lists them all; with one, its tools and their parameters.
    """

    async def work(caller: "LocalCaller", _: "Report") -> Any:
        result_document = await caller.get_schema({} if module is None else {"module": module})
        text: str = result_document["content"][0]["text"]
        if result_document["isError"]:
            raise NotFound("no such module for this user; `mcpist schema` shows those that they can use")
        return orjson.loads(text)

    result = run_as_user(work, user, tenant)
    print_result(as_json, result, lambda: print_line(format_json(result)))


def run_as_user(work: "Callable[[LocalCaller, Report], Awaitable[Any]]", email: str | None, slug: str | None) -> Any:
    """Run `work` with a user as whom tools can be called, on this machine's data folder.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: with what to do.
    """

    async def run(settings: "Settings", report: "Report") -> Any:
        from cli.lookup import resolve_tenant, resolve_user
        from server.local_call import open_local_caller
        from server.operator_context import open_operator_context

        async with open_operator_context(settings, report) as context:
            tenant = await resolve_tenant(context, slug)
            user = await resolve_user(context, tenant, email)
            async with open_local_caller(context, settings, tenant.id, user.id) as caller:
                return await work(caller, report)

    return run_local(run)
