"""Lists by pages, with Link headers (https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api)."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from tests.support.github_double.call import Call, Reply


def paged(call: Call, items: Sequence[Any], render: Callable[[Any], Any]) -> Reply:
    """The page that was asked for."""
    size = min(int(call.query.get("per_page", 30)), 100)
    number = max(int(call.query.get("page", 1)), 1)
    last = max(-(-len(items) // size), 1)
    shown = [render(one) for one in items[(number - 1) * size : number * size]]
    links = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number >= last:
        del links["next"], links["last"]
    if number == 1:
        del links["prev"], links["first"]
    return Reply(
        200, shown, {"Link": ", ".join(_link(call, page, name) for name, page in links.items())} if links else {}
    )


def _link(call: Call, page: int, name: str) -> str:
    return f'<{call.root}{call.address}?{urlencode({**call.query, "page": page})}>; rel="{name}"'
