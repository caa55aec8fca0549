"""Names of people, of whom version 2 of Confluence's API tells the account ids only."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from modules.confluence import rest_client
from modules.confluence.results import get_mapping
from modules.kit import Context, VendorProblem
from modules.kit.text_cleaning import clean_line

MAX_PEOPLE = 200
Model = TypeVar("Model", bound=BaseModel)


async def name_people(context: Context, rows: Sequence[Model], *fields: str) -> list[Model]:
    """Put names beside the account ids in these fields, as ``Ada Lovelace (id)``; where Confluence does not tell them,
    the ids stay as they are."""
    identities = dict.fromkeys(identity for row in rows for name in fields if (identity := getattr(row, name)))
    names = await _fetch_names(context, list(identities)[:MAX_PEOPLE]) if identities else {}
    return [row.model_copy(update=dict(_list_changes(row, fields, names))) for row in rows]


def _list_changes(row: BaseModel, fields: Iterable[str], names: dict[str, str]) -> Iterable[tuple[str, str]]:
    for field in fields:
        identity: str = getattr(row, field)
        if identity in names:
            yield field, f"{names[identity]} ({identity})"


async def _fetch_names(context: Context, identities: list[str]) -> dict[str, str]:
    try:
        answer = await rest_client.send_request(
            context, "POST", "/wiki/api/v2/users-bulk", json={"accountIds": identities}, repeatable=True
        )
        rows = answer.read_part(list[Any], get_mapping(answer.json()).get("results"))
    except VendorProblem:
        return {}  # the answer is worth more than the names
    people = {str(one.get("accountId")): one for one in map(get_mapping, rows)}
    names = {identity: people.get(identity, get_mapping(None)) for identity in identities}
    shown = {
        identity: clean_line(str(one.get("displayName") or one.get("publicName") or ""))
        for identity, one in names.items()
    }
    return {identity: name for identity, name in shown.items() if name}
