"""Disconnecting accounts: revoking their tokens at the vendor, and finishing what was left over."""
