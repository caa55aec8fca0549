"""Items as lists show them, by their internal ids."""

from collections.abc import Iterable, Sequence
from typing import LiteralString

from modules.items.item_rows import LISTED_COLUMNS, build_listed
from modules.items.models import ListedItem
from modules.items.workspaces import Workspace
from modules.kit import Store

FIND_LISTED: LiteralString = f"""
SELECT {LISTED_COLUMNS} FROM unnest($4::bigint[]) WITH ORDINALITY AS f (id, nth)
JOIN modules.items i ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = f.id
WHERE $2::uuid IS NOT NULL ORDER BY f.nth
"""  # noqa: S608 names of ours


async def fetch_listed(store: Store, workspace: Workspace, ids: Iterable[int]) -> dict[int, ListedItem]:
    """Fetch items in the order of their ids; those that are gone are left out."""
    wanted: Sequence[int] = list(ids)
    if not wanted:
        return {}
    rows = await store.fetch(FIND_LISTED, workspace.id, wanted)
    return {row["id"]: build_listed(row, workspace) for row in rows}
