"""Parameters that several of Confluence's tools share, and the scopes of Atlassian's that they need."""

import base64
import re
from typing import Annotated

from pydantic import AfterValidator, Field

from modules.kit.parameters import OptionalParameter, drop_bounds, limit_length

SEARCH = "search:confluence"
READ_PAGES = "read:page:confluence"
READ_SPACES = "read:space:confluence"
READ_CHILDREN = "read:hierarchical-content:confluence"
READ_COMMENTS = "read:comment:confluence"
READ_ATTACHMENTS = "read:attachment:confluence"
READ_USERS = "read:user:confluence"
WRITE_PAGES = "write:page:confluence"
DELETE_PAGES = "delete:page:confluence"
WRITE_COMMENTS = "write:comment:confluence"
DELETE_COMMENTS = "delete:comment:confluence"
WRITE_LABELS = "write:label:confluence"

MAX_MARKDOWN = 500_000
"""Characters of a page, as modules.kit.markup.storage_writing has it."""
_HOST = r"https://[A-Za-z0-9.-]{1,253}/wiki"
_ID = re.compile(r"[1-9][0-9]{0,17}")
_PAGE = re.compile(
    rf"{_HOST}/(?:spaces/[^/?#\s]{{1,255}}/pages/(?:edit-v2/)?|pages/viewpage\.action\?pageId=)([1-9][0-9]{{0,17}})"
    r"(?:[/?#&]\S{0,2000})?"
)
_TINY = re.compile(rf"{_HOST}/x/([A-Za-z0-9_-]{{1,11}})")
_KEY = r"(?!\.)~?[A-Za-z0-9._:-]{1,255}"
_SPACE = re.compile(rf"(?:{_HOST}/spaces/)({_KEY})(?:/\S{{0,2000}})?|({_KEY})")
_COMMENT = re.compile(r"(?:https://\S{1,2000}[?&]focusedCommentId=)?([1-9][0-9]{0,17})(?:[&#]\S{0,500})?")
_OPERATOR = re.compile(r"[~=<>]|\bin\b", re.IGNORECASE)


def _check_page(text: str) -> str:
    text = text.strip()
    if _ID.fullmatch(text):
        return text
    if found := _PAGE.fullmatch(text):
        return found[1]
    if (found := _TINY.fullmatch(text)) and _ID.fullmatch(number := _decode_tiny(found[1])):
        return number
    raise ValueError("is no page: give its id, which is a number, or its address; titles are found by a search")


def _decode_tiny(code: str) -> str:
    """The id in a short address: base64 of the number, low bytes first, without the zeros at its end
    (https://support.atlassian.com/confluence/kb/how-to-programmatically-generate-the-tiny-link-of-a-confluence-page/).
    """
    number = int.from_bytes(base64.b64decode(code.ljust(11, "A") + "=", altchars=b"_-"), "little")
    return str(number)


def _check_space(text: str) -> str:
    if not (found := _SPACE.fullmatch(text.strip())):
        raise ValueError("is no space: give its key, such as ENG, its id or its address; names are none")
    return found[1] or found[2]


def _check_comment(text: str) -> str:
    if not (found := _COMMENT.fullmatch(text.strip())):
        raise ValueError("is no comment: give its id, which is a number")
    return found[1]


def _check_title(text: str) -> str:
    if not (title := " ".join(text.split())):
        raise ValueError("is empty")
    return title


def _check_cql(text: str) -> str:
    if not _OPERATOR.search(text):
        raise ValueError('is no CQL: for words, write text ~ "words"')
    return text


PageId = Annotated[str, limit_length(1, 3000), AfterValidator(_check_page), Field(description="Page: id or address")]
OptionalPage = Annotated[OptionalParameter[PageId], Field(description="Page: id or address")]
SpaceName = Annotated[str, limit_length(1, 3000), AfterValidator(_check_space)]
OptionalSpace = Annotated[OptionalParameter[SpaceName], Field(description="Space: key or id")]
CommentId = Annotated[str, limit_length(1, 3000), AfterValidator(_check_comment), Field(description="Comment's id")]
Cql = Annotated[str, limit_length(1, 10_000), AfterValidator(_check_cql)]
Markdown = Annotated[str, limit_length(1, MAX_MARKDOWN), Field(description="Markdown")]
PageTitle = Annotated[str, limit_length(1, 255), AfterValidator(_check_title)]
Offset = Annotated[int, Field(ge=0, le=10**8, description="Last next_offset: reads on", json_schema_extra=drop_bounds)]
VersionNumber = Annotated[int, Field(ge=1, le=10**6, json_schema_extra=drop_bounds)]
Label = Annotated[
    str, Field(pattern=r"^[^\s!#&()*,.:;<>?@\[\]^]{1,255}$", json_schema_extra=drop_bounds, description="Label")
]
