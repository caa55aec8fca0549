"""What operators see of a running MCPist: logs, metrics, traces, health."""
