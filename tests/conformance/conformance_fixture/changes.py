"""Tools that change what the client can list, for whoever listens for that."""

from modules.kit import Tool

CHANGE_TOOLS: tuple[Tool, ...] = ()
