"""The form of names that appear in URLs, permissions and stored rows."""

import re

MODULE_NAME = "[a-z][a-z0-9_]{0,62}"
"""Names of modules and tools, as a part of a pattern. The database's checks have the same."""
MODULE_NAME_PATTERN = re.compile(MODULE_NAME)
MODULE_NAME_FIELD = f"^{MODULE_NAME}$"
"""The same for a field of the API."""
