"""The command line ``mcpist``. It acts locally, as the operator: whoever may read the data folder may administer."""

from cli.app import main

__all__ = ["main"]
