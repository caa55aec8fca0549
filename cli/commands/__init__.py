"""The commands of `mcpist`, a file for each noun."""
