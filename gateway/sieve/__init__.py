"""The Tool Sieve: what a caller may not use does not exist for them."""
