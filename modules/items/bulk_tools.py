"""The tool that changes several items in one transaction."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from modules.items.errors import INVALID, build_invalid, build_not_found, get_constraint, shorten
from modules.items.item_keys import ItemKey, parse_id
from modules.items.item_rows import ItemRecord, build_replaced, find_items
from modules.items.item_store import ItemWriter, PreparedChange, check_revision
from modules.items.item_tools import ACTION_HINTS, WRITE, open_writer
from modules.items.meaning_index import index_written
from modules.items.models import MAX_UPDATES, ItemChanges, ItemUpdate, UpdatedItem, UpdatedItems, WorkspaceParameter
from modules.kit import Context, DocumentedError, tool


def _keep_refused(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Keep what is wrong with an entry, so that all wrong ones are told at once."""
    try:
        return handler(value)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = _format_path(problem["loc"], is_unknown=problem["type"] == "extra_forbidden")
        is_missing = problem["type"] == "missing"
        constraint = "is required" if is_missing else get_constraint(problem["msg"])
        return build_invalid(field or "updates", None if is_missing else problem["input"], constraint)


def _format_path(location: Sequence[str | int], *, is_unknown: bool) -> str:
    """Write the place of a mistake, without the names that pydantic gives the members of unions. `is_unknown`: its last
    step is a field that there is not."""
    text = ""
    for place, step in enumerate(location, 1):
        if isinstance(step, int):
            text += f"[{step}]"
        elif step in _FIELDS or (is_unknown and place == len(location)):
            name = shorten(step)
            text += f".{name}" if text else name
    return text


_FIELDS = frozenset({*ItemUpdate.model_fields, *ItemChanges.model_fields})
CheckedUpdate = Annotated[ItemUpdate, WrapValidator(_keep_refused)]


@tool(hints=ACTION_HINTS, scopes=[WRITE], keywords="several, many, batch, 一括, まとめて")
async def bulk_update(
    context: Context,
    updates: Annotated[
        list[CheckedUpdate],
        Field(min_length=1, max_length=MAX_UPDATES, fail_fast=True, description="Items with what is to change in data"),
    ],
    workspace: WorkspaceParameter = None,
) -> UpdatedItems:
    """Change several items at once: all of them, or none where one is wrong."""
    keys, refused = _read_keys(updates)
    async with open_writer(context, workspace) as (store, found, writer):
        records = dict(zip(keys, await find_items(store, found, list(keys.values())), strict=True))
        changes = await _prepare(writer, updates, records, refused)
        if refused:
            raise _build_refusal(refused)
        changed = [(updates[index], records[index], await writer.update(change)) for index, change in changes.items()]
    await index_written(context, found, [after.id for _, _, after in changed])
    updated = [
        UpdatedItem(
            key=str(after.key),
            revision=after.revision,
            replaced=build_replaced(before, context.user_id, update.expected_revision) if before else None,
        )
        for update, before, after in changed
    ]
    return UpdatedItems(updated=updated, count=len(updated))


def _read_keys(
    updates: Sequence[ItemUpdate | DocumentedError],
) -> tuple[dict[int, ItemKey], dict[int, DocumentedError]]:
    """Return the keys of the items by the index of their entries, and the errors of wrong entries."""
    keys: dict[int, ItemKey] = {}
    refused: dict[int, DocumentedError] = {}
    for index, update in enumerate(updates):
        if isinstance(update, DocumentedError):
            refused[index] = update
            continue
        try:
            keys[index] = parse_id(update.type, update.id)
        except DocumentedError as error:
            refused[index] = error
    return keys, refused


async def _prepare(
    writer: ItemWriter,
    updates: list[ItemUpdate],
    records: dict[int, ItemRecord | None],
    refused: dict[int, DocumentedError],
) -> dict[int, PreparedChange]:
    """Prepare the changes in their order, by their index; one of an item that was changed before goes on from there."""
    changes: dict[int, PreparedChange] = {}
    latest: dict[int, ItemRecord] = {}
    for index, record in records.items():
        update = updates[index]
        try:
            if record is None:
                raise build_not_found(update.type, update.id)
            check_revision(record, update.expected_revision)
            changes[index] = await writer.merge(latest.get(record.id, record), update.data)
        except DocumentedError as error:
            refused[index] = error
        else:
            latest[changes[index].after.id] = changes[index].after
    return changes


def _build_refusal(refused: dict[int, DocumentedError]) -> DocumentedError:
    """Build one error of all refused entries: that of the first, with the index, code and details of each."""
    errors = [
        {"index": index, "code": error.kind.code, "message": error.kind.message, **(error.details or {})}
        for index, error in sorted(refused.items())
    ]
    first = refused[min(refused)]
    details = {"index": min(refused), **(first.details or {}), "errors": errors}
    return DocumentedError(first.kind if len({one.kind.code for one in refused.values()}) == 1 else INVALID, details)


BULK_TOOLS = (bulk_update,)
