"""The control plane: the admin API, and later the console."""
