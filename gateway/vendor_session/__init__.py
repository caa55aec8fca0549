"""Requests to vendors: one kept HTTP session a process; each client has one host, one base path, one credential."""
