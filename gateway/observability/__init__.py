"""Observability of a running MCPist: logs, metrics, traces, health."""
