"""What a command tells of accounts at vendors that it has ended."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.cli.output import note

if TYPE_CHECKING:
    from broker.connect.ended import Ended
    from core.directory.farewell import Goodbye


def tell(said: "Sequence[Goodbye]") -> None:
    """Name those that live on at their vendors."""
    for one in said:
        if one.lives_on:
            note(_text(one.provider, one.account, one.manage_url))


def tell_ended(ended: "Ended") -> None:
    """The same for one that was disconnected."""
    if ended.told == "key":
        note("Note: at the vendor the key stays valid until it is revoked there")
    elif ended.lives_on:
        note(_text(ended.provider, ended.account, ended.manage_url))


def _text(provider: str, account: str, manage_url: str) -> str:
    where = f": {manage_url}" if manage_url else ""
    return f"Note: {provider} was not told that the access to {account or 'an account'} is over; end it there{where}"
