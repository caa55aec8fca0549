"""What a server tells of the accounts at vendors of whoever was removed."""

from collections.abc import Sequence
from typing import Any

from core.directory.farewell import Goodbye
from gateway.cli.remote.http import Answer


def left(answer: Answer) -> Sequence[Goodbye]:
    """Those that live on there; none where the server is older and does not say."""
    told: Any = answer.json() if answer.status == 200 else {}
    return [
        Goodbye(str(one["provider"]), str(one["account"]), lives_on=True, manage_url=str(one["manage_url"]))
        for one in told.get("left", ())
    ]
