"""Linked vendor accounts: one OAuth grant each, refreshed as one unit behind every module that uses it."""
