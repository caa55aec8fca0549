"""MCPist as a client of vendors' OAuth servers: one request each, its answer sorted, nothing of it told to a log."""
