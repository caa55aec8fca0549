"""The data plane: auth middleware, Tool Sieve, MCP handler, meta-tools, catalogue, and the command line."""
