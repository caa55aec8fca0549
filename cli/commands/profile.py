"""`mcpist profile`: your own name, language and time zone at a server."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, create_group
from cli.output import print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.me import UserProfile

BROWSER = "browser"

app = create_group("Your own name, language and time zone at a server.")


@app.command("show", epilog="Example: mcpist profile show")
def show(as_json: JsonOption = False) -> None:
    """Show your profile."""

    def call_api(api: "AdminApiClient") -> "UserProfile":
        from cli.client.me import fetch_profile

        return fetch_profile(api)

    _print_profile(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("set", epilog="Example: mcpist profile set --language ja --time-zone Asia/Tokyo")
def set_(
    name: Annotated[str | None, typer.Option("--name", help="Your name.")] = None,
    language: Annotated[
        str | None, typer.Option("--language", metavar="en|ja|browser", help="Language of the console.")
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option("--time-zone", metavar="ZONE", help="Such as Asia/Tokyo, or browser.")
    ] = None,
    shortcuts: Annotated[
        bool | None, typer.Option("--shortcuts/--no-shortcuts", help="Shortcuts of a single letter in the console.")
    ] = None,
    guided_start: Annotated[
        bool | None, typer.Option("--guided-start/--no-guided-start", help="Whether the console offers its set-up.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change your profile; what is not given stays. With `browser`, the browser's language or time zone counts."""
    asked = {
        "name": name,
        "language": language,
        "time_zone": time_zone,
        "single_key_shortcuts": shortcuts,
        "guided_start": guided_start,
    }
    changes: dict[str, Any] = {
        field: None if value == BROWSER and field in ("language", "time_zone") else value
        for field, value in asked.items()
        if value is not None
    }

    def call_api(api: "AdminApiClient") -> "UserProfile":
        from cli.client.me import change_profile

        return change_profile(api, changes)

    _print_profile(run_api_command(call_api, needs_tenant=False), as_json)


def _print_profile(profile: "UserProfile", as_json: bool) -> None:
    import msgspec

    rows = [
        ("E-mail", profile.email),
        ("Name", profile.name),
        ("Language", profile.language or BROWSER),
        ("Time zone", profile.time_zone or BROWSER),
        ("Shortcuts of a single letter", profile.single_key_shortcuts),
        ("Tenant", profile.tenant.slug),
        ("Roles", profile.roles),
    ]
    print_result(as_json, msgspec.to_builtins(profile), lambda: print_table(("", ""), rows, empty=""))
