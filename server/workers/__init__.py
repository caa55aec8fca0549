"""Several processes that serve one port together (docs/decisions/0049-workers.md)."""
