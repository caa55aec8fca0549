"""`mcpist keys add|activate|rewrap|reencrypt|retire`: changing the keys that stored credentials are sealed with, while
MCPist runs. Each may be interrupted, and run again."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cli.failures import CommandExit
from cli.options import JsonOption
from cli.output import print_line, print_note, print_result
from cli.progress import Report
from cli.runner import run_local

if TYPE_CHECKING:
    from broker.vault.reencryption import ReencryptionResult
    from core.config.settings import Settings
    from server.key_rotation import KeyRotation, RewrapResult

_T = TypeVar("_T")

KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `mcpist keys status` shows it.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("add", epilog="Example: mcpist keys add")(add)
    app.command("activate", epilog="Example: mcpist keys activate 1f2e3d4c")(activate)
    app.command("rewrap", epilog="Example: mcpist keys rewrap --json")(rewrap)
    app.command("reencrypt", epilog="Example: mcpist keys reencrypt")(reencrypt)
    app.command("forget-peppers", epilog="Example: mcpist keys forget-peppers")(forget_peppers)
    app.command("forget-digest", epilog="Example: mcpist keys forget-digest")(forget_digest)
    app.command("retire", epilog="Example: mcpist keys retire 0a1b2c3d")(retire)


def add(as_json: JsonOption = False) -> None:
    """Make one more key in the key file. It is not used yet.

    First copy the file: to your copy of the keys, and to every machine that runs a broker. Then activate the key.
    """

    async def work(rotation: "KeyRotation", _report: Report) -> str:
        return await rotation.add()

    kek_id = _run_with_keys(work)
    print_result(
        as_json, {"id": kek_id, "active": False}, lambda: print_line(f"Made the key {kek_id}; it is not active yet.")
    )
    print_note(
        f"Copy the key file to your copy of the keys, and to each machine with a broker; then: keys activate {kek_id}"
    )


def activate(kek_id: KeyId, as_json: JsonOption = False) -> None:
    """Wrap new data keys with this key of the key file from now on.

    MCPist on this machine knows at once, without a restart. What other keys have wrapped stays as it is until
    `mcpist keys rewrap`.
    """

    async def work(rotation: "KeyRotation", _report: Report) -> None:
        await rotation.activate(kek_id)

    _run_with_keys(work)
    print_result(as_json, {"id": kek_id, "active": True}, lambda: print_line(f"The key {kek_id} is active."))


def rewrap(as_json: JsonOption = False) -> None:
    """Wrap all data keys and signing keys under the active key.

    It goes on beside everything else, and no stored credential is touched. Interrupted, run it again.
    """

    async def work(rotation: "KeyRotation", report: Report) -> "RewrapResult":
        return await rotation.rewrap(report)

    result = _run_with_keys(work)
    print_result(as_json, result, lambda: _print_rewrap_result(result))


def reencrypt(
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make new data keys even where they were made under the active key.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Seal all stored secrets anew, under data keys that were made under the active key.

    That is for keys that others may know (see docs/operations.md); to change keys now and then, `mcpist keys
    rewrap` is enough. It goes on beside everything else. Interrupted, run it again. Exit code 1 if a secret is left.
    """

    async def work(rotation: "KeyRotation", report: Report) -> "ReencryptionResult":
        return await rotation.reencrypt(report, fresh=fresh)

    result = _run_with_keys(work)
    print_result(
        as_json, result, lambda: print_line(f"Sealed {result.secrets} secrets anew; {result.data_keys} new data keys.")
    )
    if result.busy:
        print_note(f"{result.busy} secrets were in use all the time; run it again.")
    if result.damaged:
        print_note(
            f"{result.damaged} secrets cannot be opened and stay as they are; `mcpist doctor` names their owners."
        )
    if result.busy or result.damaged:
        raise CommandExit(1)


def retire(kek_id: KeyId, as_json: JsonOption = False) -> None:
    """Retire a key that nothing uses any longer, and remove it from the key file.

    Refused while a data key, a signing key or anything else uses it, which the database itself checks.
    """

    async def work(rotation: "KeyRotation", _report: Report) -> bool:
        return await rotation.retire(kek_id)

    removed_from_file = _run_with_keys(work)

    def print_text() -> None:
        print_line(
            f"Nothing uses the key {kek_id}; it is retired"
            + (", and out of the key file." if removed_from_file else ".")
        )
        print_note("Backups that were made before still need it: keep its copy for as long as you keep them.")

    print_result(as_json, {"id": kek_id, "retired": True, "removed_from_file": removed_from_file}, print_text)


def forget_peppers(as_json: JsonOption = False) -> None:
    """Start again after the peppers of API tokens and client secrets were lost and no copy exists.

    MCPist does not start while keys/token-peppers.json lacks a pepper that was used. Look for a copy first: tokens and
    secrets that were made with a lost pepper are invalid, and their owners have to create new ones.
    """

    async def run(settings: "Settings", report: Report) -> list[str]:
        from server.bootstrap import OPERATOR_ACTOR
        from server.key_rotation import forget_peppers

        return await forget_peppers(settings, report, OPERATOR_ACTOR)

    lost = run_local(run)
    text = f"Forgot {', '.join(lost)}; its tokens and secrets are invalid." if lost else "No pepper is lost."
    print_result(as_json, {"forgotten": lost}, lambda: print_line(text))


def forget_digest(as_json: JsonOption = False) -> None:
    """Start again after the key of the argument digests was lost and no copy exists.

    MCPist does not start with another keys/audit-digest.json than the one before. Look for a copy first: calls before
    and after have different digests of equal arguments. Copy the new file to every gateway.
    """

    async def run(settings: "Settings", report: Report) -> None:
        from server.bootstrap import OPERATOR_ACTOR
        from server.key_rotation import forget_digest_key

        await forget_digest_key(settings, report, OPERATOR_ACTOR)

    run_local(run)
    print_result(as_json, {"forgotten": True}, lambda: print_line("The next start records the key in the file."))


def _print_rewrap_result(result: "RewrapResult") -> None:
    print_line(
        f"{result.data_keys} data keys and {result.signing_keys} signing keys were wrapped anew, under {result.kek_id}."
    )


def _run_with_keys(work: "Callable[[KeyRotation, Report], Awaitable[_T]]") -> _T:
    async def run(settings: "Settings", report: Report) -> _T:
        from server.bootstrap import OPERATOR_ACTOR
        from server.key_rotation import open_key_rotation
        from server.operator_context import open_operator_context

        async with (
            open_operator_context(settings, report) as context,
            open_key_rotation(context.deployment, context.console, OPERATOR_ACTOR) as rotation,
        ):
            return await work(rotation, report)

    return run_local(run)
