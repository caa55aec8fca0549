"""The fault matrix of broker-security.md §3.2: MCPist's refresh beside the ways that others serialise theirs."""
