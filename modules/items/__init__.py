"""Items of any type with relations, tags and statuses, and the current state of what one works on."""

from modules.items.browse_tools import BROWSE_TOOLS
from modules.items.bulk_tools import BULK_TOOLS
from modules.items.errors import ERRORS
from modules.items.graph_tools import GRAPH_TOOLS
from modules.items.import_tools import IMPORT_TOOLS
from modules.items.item_tools import ITEM_TOOLS, READ, WRITE
from modules.items.list_tools import LIST_TOOLS
from modules.items.meaning_tools import MEANING_TOOLS
from modules.items.search_tools import SEARCH_TOOLS
from modules.items.settings import ItemSettings
from modules.items.state_tools import STATE_TOOLS
from modules.items.workspace_tools import WORKSPACE_TOOLS
from modules.kit import Icon, Module, ParameterSample

MODULE = Module(
    name="items",
    title="Items",
    description="What you and your team work on: tasks, notes and documents of any type, related, and a current state.",
    scopes=frozenset({READ, WRITE}),
    tools=(
        *ITEM_TOOLS,
        *LIST_TOOLS,
        *BROWSE_TOOLS,
        *BULK_TOOLS,
        *STATE_TOOLS,
        *GRAPH_TOOLS,
        *SEARCH_TOOLS,
        *MEANING_TOOLS,
        *WORKSPACE_TOOLS,
        *IMPORT_TOOLS,
    ),
    settings=ItemSettings,
    untrusted=True,
    errors=ERRORS,
    has_plain_names=True,
    icon=Icon("#0369a1", "M5 4h6v6H5ZM13 14h6v6h-6ZM14 7h5M5 14h5M5 18h5M8 10v2h8v2"),
    samples={
        "type": ParameterSample("task"),
        "id": ParameterSample(1, "get_items", "/items/0/id"),
        "from_type": ParameterSample("task"),
        "from_id": ParameterSample(1, "get_items", "/items/0/id"),
        "to_type": ParameterSample("note"),
        "to_id": ParameterSample(3, "get_items", "/items/0/id"),
        "query": ParameterSample("release"),
        "tag": ParameterSample("home", "get_tags", "/tags/0/name"),
        "set_statuses.statuses": ParameterSample([{"name": "Open"}, {"name": "Done", "is_closed": True}]),
        "updates": ParameterSample([{"type": "task", "id": 1, "data": {"status": "Closed"}}]),
        "jsonl": ParameterSample('{"key": "task-1", "title": "Water the plants", "tags": ["home"]}'),
        "workspace": ParameterSample("default", "list_workspaces", "/workspaces/0/name"),
    },
)
