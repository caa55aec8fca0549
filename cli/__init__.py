"""The command line ``mcpist``. It acts locally, as the operator: access to the data folder is the right to
administer."""

from cli.app import main

__all__ = ["main"]
