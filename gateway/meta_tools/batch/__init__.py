"""Several tool calls in one: `parse → plan → run`, with errors as data; only `run` has effects."""
