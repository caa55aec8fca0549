"""A knowledge base of Shirokuma, sent as items; then its current state."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cli.failures import ToolCallError
from cli.moving_in.item_file import ItemLinesImport, ItemReport
from cli.moving_in.shirokuma_folder import ShirokumaFolder

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller


class ShirokumaImport:
    """One import of a folder, and its report. `has_state`: there is a current state, which was taken over."""

    def __init__(self, folder: Path, workspace: str | None, *, replaces: bool) -> None:
        self._folder = ShirokumaFolder(folder)
        self._workspace = {} if workspace is None else {"workspace": workspace}
        self._items = ItemLinesImport(self._folder.read, workspace, replaces=replaces)
        self.has_state = False

    @property
    def report(self) -> ItemReport:
        """Report of the items that were written and of those that were refused."""
        return self._items.report

    def run(self, caller: "ToolCaller | None", tell: Callable[[str], None]) -> None:
        """Send the items, then the state; without a `caller` only read and count.

        Raises:
            Invalid: the folder cannot be read.
            core.errors.MCPistError: a call failed.
        """
        self._items.run(caller, tell)
        state = self._folder.read_state()
        self.has_state = state is not None
        if caller is not None and state is not None:
            try:
                caller.call("items", "update_current_state", {**state, **self._workspace})
            except ToolCallError as error:
                self.has_state = False
                self.report.refuse("current state", str(error))
