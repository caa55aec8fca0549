"""Items in JSON Lines, as they are moved in: one object a line, of an item or of statuses."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from modules.items.errors import get_constraint
from modules.items.item_keys import ItemKey, parse_id, parse_key
from modules.items.models import IdValue, ItemChanges, KeyText, RefusedItemLine, Status, TypeName
from modules.kit import DocumentedError
from modules.kit.parameters import OptionalParameter
from modules.kit.turns import count_work

MAX_IMPORT_CHARS = 250_000
MAX_IMPORT_LINES = 1_000
MAX_IMPORTED_NUMBER = 1_000_000_000
"""Numbers go on behind the greatest, so some have to be left."""


class ItemLine(ItemChanges):
    """Line of an item: its key, or its type with an id or without; and its fields. What only a result has counts for
    nothing."""

    key: OptionalParameter[KeyText] = None
    type: OptionalParameter[TypeName] = None
    id: OptionalParameter[IdValue] = None
    created_at: OptionalParameter[AwareDatetime] = None
    updated_at: OptionalParameter[AwareDatetime] = None
    workspace: Any = None
    revision: Any = None
    updated_by: Any = None


class StatusLine(BaseModel):
    """Line of statuses, which a workspace gets beside its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    statuses: Annotated[list[Status], Field(max_length=50)]


@dataclass(frozen=True, slots=True)
class ReadItemLine:
    """A line that was read. `key` is None where the item gets the next number of its `type`."""

    line: int
    type: str
    key: ItemKey | None
    item: ItemLine


@dataclass(slots=True)
class ParsedItems:
    """What was read of the lines, in their order, and why others were not."""

    items: list[ReadItemLine] = field(default_factory=list[ReadItemLine])
    statuses: dict[str, bool] = field(default_factory=dict[str, bool])
    refused: list[RefusedItemLine] = field(default_factory=list[RefusedItemLine])

    def refuse(self, line: int, error: DocumentedError) -> None:
        """Note that a line was refused."""
        details = error.details or {}
        reason = details.get("constraint") or details.get("message") or ""
        reason = f"there is no item {details.get('requested_id')}" if "requested_id" in details else reason
        self.refused.append(RefusedItemLine(line=line, field=str(details.get("field", "id")), reason=str(reason)))


def parse_items(text: str) -> ParsedItems:
    """Parse lines. To be run in turns (:mod:`modules.kit.turns`)."""
    parsed = ParsedItems()
    keys: set[ItemKey] = set()
    for number, line in enumerate(text.split("\n"), 1):
        count_work(len(line))
        if not line.strip():
            continue
        if number > MAX_IMPORT_LINES:
            reason = f"at most {MAX_IMPORT_LINES} lines are imported at once"
            parsed.refused.append(RefusedItemLine(line=number, field="", reason=reason))
            break
        _parse_line(parsed, keys, number, line)
    return parsed


def _parse_line(parsed: ParsedItems, keys: set[ItemKey], number: int, line: str) -> None:
    try:
        value: Any = json.loads(line)
        if isinstance(value, dict) and "statuses" in value:
            found = StatusLine.model_validate_json(line, strict=True)
            parsed.statuses |= {status.name: status.is_closed for status in found.statuses}
            return
        item = ItemLine.model_validate_json(line, strict=True)
        key = _read_key(item)
    except DocumentedError as error:
        parsed.refuse(number, error)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = str(problem["loc"][0]) if problem["loc"] else ""
        parsed.refused.append(RefusedItemLine(line=number, field=place, reason=get_constraint(problem["msg"])))
    except (ValueError, RecursionError):
        parsed.refused.append(RefusedItemLine(line=number, field="", reason="is no JSON object"))
    else:
        type = item.type if key is None else key.type
        if type is None:
            parsed.refused.append(RefusedItemLine(line=number, field="type", reason="key or type is required"))
        elif key is not None and key.number > MAX_IMPORTED_NUMBER:
            reason = f"has a number above {MAX_IMPORTED_NUMBER}"
            parsed.refused.append(RefusedItemLine(line=number, field="key", reason=reason))
        elif key in keys:
            parsed.refused.append(RefusedItemLine(line=number, field="key", reason="stands on a line before, too"))
        else:
            parsed.items.append(ReadItemLine(number, type, key, item))
            keys |= set() if key is None else {key}


def _read_key(item: ItemLine) -> ItemKey | None:
    if item.key is not None:
        return parse_key(item.key, "key")
    if item.type is not None and item.id is not None:
        return parse_id(item.type, item.id)
    return None
