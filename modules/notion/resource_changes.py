"""Which tools change what of Notion's can be attached to a chat. A block does not say which page it is in."""

from modules.kit.resource_changes import changed
from modules.notion.resources import data_source, page

CHANGES = {
    **dict.fromkeys(("update_page", "update_page_markdown", "move_page"), (changed(page, id="page_id"),)),
    "append_block_children": (changed(page, id="block_id"),),
    "update_data_source": (changed(data_source, id="data_source_id"),),
}
