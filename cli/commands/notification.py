"""`mcpist notification`: which alerts a tenant sends and to whom, and which a person wants."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from broker.notifications.preferences import Alert, AlertPreference, AlertSettings
    from cli.client.admin_api import AdminApiClient

app = create_group("Which alerts about connections a tenant sends and to whom, and which a person wants by mail.")

AlertName = Annotated[
    str, typer.Argument(metavar="ALERT", help="account, account_end, credential or oauth_client; see `list`.")
]
UserOption = Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="Whose; default your own.")]


@app.command("list", epilog="Example: mcpist notification list")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show how the tenant sends each alert."""

    def call_api(api: "AdminApiClient") -> "list[AlertSettings]":
        from cli.client.notification_settings import fetch_notification_settings

        return fetch_notification_settings(api)

    alerts = run_api_command(call_api, tenant=tenant)
    columns = ("Alert", "Mail", "Webhook", "Administrators too", "Further addresses")
    rows = [(one.alert, one.mail, one.webhook, one.administrators, list(one.addresses)) for one in alerts]
    print_result(as_json, [asdict(one) for one in alerts], lambda: print_table(columns, rows, empty=""))


@app.command("set", epilog="Example: mcpist notification set credential --mail --administrators --no-webhook")
def set_(
    alert: AlertName,
    mail: Annotated[bool, typer.Option("--mail/--no-mail", help="Send it by mail.")] = True,
    webhook: Annotated[bool, typer.Option("--webhook/--no-webhook", help="Send it to the webhook.")] = True,
    administrators: Annotated[
        bool, typer.Option("--administrators", help="Tell administrators of personal accounts too.")
    ] = False,
    address: Annotated[
        list[str] | None, typer.Option("--address", metavar="EMAIL", help="A further address; may be given again.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set whether and to whom the tenant sends an alert; all options are set anew."""

    def call_api(api: "AdminApiClient") -> "AlertSettings":
        from broker.notifications.preferences import AlertSettings
        from cli.client.notification_settings import put_notification_settings

        named = cast("Alert", alert)
        return put_notification_settings(api, AlertSettings(named, mail, webhook, administrators, tuple(address or ())))

    settings = run_api_command(call_api, tenant=tenant)
    print_result(as_json, asdict(settings), lambda: print_line(f"The settings of {alert} are stored."))


@app.command("preferences", epilog="Example: mcpist notification preferences --user ada@acme.example")
def preferences(user: UserOption = None, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show which alerts a person wants by mail."""

    def call_api(api: "AdminApiClient") -> "list[AlertPreference]":
        from cli.client.notification_settings import fetch_notification_preferences

        return fetch_notification_preferences(api, user)

    alerts = run_api_command(call_api, tenant=tenant)
    rows = [(one.alert, one.mail) for one in alerts]
    print_result(as_json, [asdict(one) for one in alerts], lambda: print_table(("Alert", "Mail"), rows, empty=""))


@app.command("prefer", epilog="Example: mcpist notification prefer account_end --no-mail")
def prefer(
    alert: AlertName,
    mail: Annotated[bool, typer.Option("--mail/--no-mail", help="Get it by mail.")] = True,
    user: UserOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set whether a person wants an alert by mail."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.notification_settings import put_notification_preference

        put_notification_preference(api, user, alert, mail=mail)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"alert": alert, "mail": mail}, lambda: print_line(f"The choice for {alert} is stored."))
