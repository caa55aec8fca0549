"""Options that many commands share."""

from typing import Annotated

import typer

TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", metavar="SLUG", help="The tenant; where there are several and MCPIST_TENANT is not set."),
]
ModuleName = Annotated[str, typer.Argument(metavar="MODULE", help="The module's name.")]
OwnerOption = Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="Whose; default your own.")]
AllOwnersOption = Annotated[bool, typer.Option("--all", help="Everybody's in the tenant, for administrators.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, for scripts.")]

RESULT_TOKENS_HELP = "Tokens that one tool result may take, 200 to 50000; more is kept and read in parts."
TOOL_EXPOSURE_HELP = (
    "How tools are shown where the URL does not say it: meta, plain or both, with modules and tools after a colon: "
    "plain:github,notion"
)
TOOL_RESULT_FORMAT_HELP = (
    "What its client gets beside a result's structured part: short, if it shows its model that part, or full; "
    "default what is known of the client."
)


def create_group(help: str) -> typer.Typer:
    """Create a group of commands; called alone it shows its help."""
    return typer.Typer(
        help=help, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False
    )
