"""Output about vendor accounts that a command has removed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.output import print_note

if TYPE_CHECKING:
    from broker.disconnect.disconnect_service import DisconnectResult
    from core.directory.account_revocation import RevocationResult


def print_remaining_accounts(said: "Sequence[RevocationResult]") -> None:
    """Name those that live on at their vendors."""
    for one in said:
        if one.still_active:
            print_note(_format_note(one.provider, one.account, one.manage_url))


def print_disconnect_result(ended: "DisconnectResult") -> None:
    """The same for one that was disconnected."""
    if ended.outcome == "api_key":
        print_note("Note: at the vendor the key stays valid until it is revoked there")
    elif ended.still_active:
        print_note(_format_note(ended.provider, ended.account, ended.manage_url))


def _format_note(provider: str, account: str, manage_url: str) -> str:
    where = f": {manage_url}" if manage_url else ""
    return f"Note: {provider} was not told that the access to {account or 'an account'} is over; end it there{where}"
