"""Connecting vendor accounts: OAuth clients, flows through a person's browser, pasted keys, and the way back out."""
