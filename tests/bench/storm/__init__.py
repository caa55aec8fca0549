"""The fault matrix of threat-model.md §3.2: MCPist's refresh beside the ways that others serialise theirs."""
