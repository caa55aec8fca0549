"""P2: MCPist beside other gateways, each in an own virtual environment: ``python -m tests.bench.peers --help``."""
