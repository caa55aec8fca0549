"""`mcpist notification-sender`: the mail server and the webhook of notifications, as the operator keeps them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.commands.identity_provider import print_checks
from cli.options import JsonOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command
from cli.secret_input import read_secret, refuse_on_command_line

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.notification_senders import NotificationSenderEntry, SavedSender, SenderName, SenderTrialResult

app = create_group("The mail server and the webhook of notifications, for the whole deployment.")

KeepSecret = Annotated[bool, typer.Option("--keep-secret", help="The stored secret stays.")]
FromFile = Annotated[Path | None, typer.Option("--from-file", metavar="FILE", help="Read the secret from a file.")]
FromStdin = Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")]
TryOnly = Annotated[bool, typer.Option("--try", help="Send the trial message only, and store nothing.")]
DespiteFailures = Annotated[bool, typer.Option("--despite-failures", help="Store it although the trial fails.")]


@app.command("list", epilog="Example: mcpist notification-sender list --json")
def list_(as_json: JsonOption = False) -> None:
    """Show the senders: those of notices.toml, which are changed there, and the stored ones."""

    def call_api(api: "AdminApiClient") -> "list[NotificationSenderEntry]":
        from cli.client.notification_senders import fetch_notification_senders

        return fetch_notification_senders(api)

    from msgspec import to_builtins

    senders = run_api_command(call_api, needs_tenant=False)
    columns = ("Sender", "From", "In use", "Address", "User", "Sent from")
    rows = [
        (one.kind, one.source, one.in_use, one.url or f"{one.server}:{one.port} ({one.security})", one.user, one.sender)
        for one in senders
    ]
    empty = "No sender yet: `mcpist notification-sender set-mail` stores one, and nobody is notified until then."
    print_result(as_json, to_builtins(senders), lambda: print_table(columns, rows, empty=empty))


@app.command(
    "set-mail",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist notification-sender set-mail smtp.example.com --user mcpist "
    "--sender mcpist@example.com --recipient me@example.com",
)
def set_mail(
    context: typer.Context,
    server: Annotated[str, typer.Argument(metavar="HOST", help="The mail server.")],
    sender: Annotated[str, typer.Option("--sender", metavar="ADDRESS", help="The address that mails come from.")],
    recipient: Annotated[
        str | None, typer.Option("--recipient", metavar="ADDRESS", help="Who gets the trial mail; default you.")
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="NUMBER", help="Its port.")] = 587,
    security: Annotated[str, typer.Option("--security", metavar="HOW", help="starttls, tls or none.")] = "starttls",
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Whom to log in as; nobody without it.")] = "",
    keep_secret: KeepSecret = False,
    from_file: FromFile = None,
    stdin: FromStdin = False,
    try_only: TryOnly = False,
    despite_failures: DespiteFailures = False,
    as_json: JsonOption = False,
) -> None:
    """Send a trial mail by a server, and store the server if that works; it counts without a restart.

    The password is read at a prompt, from --stdin or from a file, never from the command line.
    """
    refuse_on_command_line(context.args)
    needs_secret = bool(user) and not keep_secret
    password = read_secret(f"Password of {user}", from_file, stdin).reveal() if needs_secret else None
    values = {"server": server, "port": port, "security": security, "user": user, "sender": sender}
    body = {**values, "password": password, "recipient": recipient}
    _put_or_try("mail", body, try_only=try_only, despite_failures=despite_failures, as_json=as_json)


@app.command(
    "set-webhook",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist notification-sender set-webhook https://alarms.example.com/mcpist --stdin < secret.txt",
)
def set_webhook(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where events are posted.")],
    keep_secret: KeepSecret = False,
    from_file: FromFile = None,
    stdin: FromStdin = False,
    try_only: TryOnly = False,
    despite_failures: DespiteFailures = False,
    as_json: JsonOption = False,
) -> None:
    """Post a trial event to a receiver, and store the receiver if it takes the event.

    The signing secret (whsec_…) is read at a prompt, from --stdin or from a file, never from the command line.
    """
    refuse_on_command_line(context.args)
    secret = None if keep_secret else read_secret("Signing secret (whsec_…)", from_file, stdin).reveal()
    body = {"url": url, "secret": secret}
    _put_or_try("webhook", body, try_only=try_only, despite_failures=despite_failures, as_json=as_json)


@app.command("remove", epilog="Example: mcpist notification-sender remove webhook")
def remove(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="mail or webhook.")], as_json: JsonOption = False
) -> None:
    """Forget a stored sender."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.notification_senders import remove_notification_sender

        remove_notification_sender(api, kind)

    run_api_command(call_api, needs_tenant=False)
    print_result(as_json, {"kind": kind, "removed": True}, lambda: print_line(f"The sender {kind} is removed."))


def _put_or_try(
    kind: "SenderName", body: Mapping[str, Any], *, try_only: bool, despite_failures: bool, as_json: bool
) -> None:
    def call_api(api: "AdminApiClient") -> "SenderTrialResult | SavedSender":
        from cli.client.notification_senders import put_notification_sender, try_notification_sender

        if try_only:
            return try_notification_sender(api, kind, body)
        return put_notification_sender(api, kind, body, despite_failures=despite_failures)

    from msgspec import to_builtins

    result = run_api_command(call_api, needs_tenant=False)

    def print_text() -> None:
        print_checks(result.checks)
        print_line("Nothing was stored." if try_only else f"The sender {kind} is stored.")

    print_result(as_json, to_builtins(result), print_text)
