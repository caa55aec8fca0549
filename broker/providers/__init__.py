"""Vendors' OAuth servers and API keys as data."""
