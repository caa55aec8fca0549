"""Vendor credentials: encrypted, bound to their row, opened by the broker alone."""
