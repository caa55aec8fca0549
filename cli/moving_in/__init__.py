"""What `mcpist import` reads, and how it is written by tools."""
