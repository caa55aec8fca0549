"""The keys under which API token secrets are hashed. They live in a file of their own, apart from the database."""

from broker.vault.key_file import KeyFile, load_or_create

__all__ = ["Peppers", "load_or_create"]

Peppers = KeyFile
"""Every pepper that stored tokens may name, and the id of the one that new tokens get."""
