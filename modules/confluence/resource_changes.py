"""Which tools change what of Confluence's can be attached to a chat."""

from modules.confluence.resources import page
from modules.kit.resource_changes import changed

_PAGE = (changed(page, id="page"),)
CHANGES = {"update_page": _PAGE, "delete_page": _PAGE}
