"""Parameters that several of Notion's tools share, and the capabilities that stand where other vendors have scopes."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from modules.kit.parameters import OptionalParameter, limit_length

# Notion has no scopes: a connection has capabilities (https://developers.notion.com/reference/capabilities).
READ_CONTENT = "read_content"
INSERT_CONTENT = "insert_content"
UPDATE_CONTENT = "update_content"
READ_COMMENTS = "read_comments"
INSERT_COMMENTS = "insert_comments"
READ_USERS = "read_users"

_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_PAGE_ADDRESS = re.compile(r"https://(?:[a-z0-9-]+\.)*notion\.(?:so|site|com)/[^\s?#]*?([0-9a-f]{32})(?:[?#]\S*)?")


def parse_id(text: str) -> str:
    """Parse an id of Notion's, with or without hyphens, or the address of a page.

    Raises:
        ValueError: it is neither.
    """
    plain = text.strip().lower()
    address = _PAGE_ADDRESS.fullmatch(plain)
    plain = address[1] if address else plain
    if not _ID.fullmatch(plain):
        raise ValueError("is no id of Notion's: 32 hexadecimal digits, with or without -, or the address of a page")
    digits = plain.replace("-", "")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


NotionId = Annotated[str, limit_length(maximum=500), AfterValidator(parse_id)]
PageId = Annotated[NotionId, Field(description="Id or address")]
BlockId = Annotated[NotionId, Field(description="Block or page")]
Markdown = Annotated[str, limit_length(1, 500_000), Field(description="Markdown")]
Properties = Annotated[
    OptionalParameter[dict[str, Any]],
    Field(description="By name: text, number, boolean, list, date as 2026-01-31 or start/end; null clears"),
]
