"""The command line as a client of another MCPist's admin API: signing in, and asking."""
