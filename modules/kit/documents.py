"""A store of JSON documents for modules that have no tables of their own."""

from typing import Any, NamedTuple, Protocol

from modules.kit.errors import ToolError

MAX_KEY_LENGTH = 200
MAX_DOCUMENT_BYTES = 256 * 1024
MAX_DOCUMENTS = 1_000
"""Of one user in one module."""
MAX_PAGE = 100


class Document(NamedTuple):
    """A stored value. `version` is 1 for a new document, and one more after each change."""

    key: str
    value: Any
    version: int


class DocumentPage(NamedTuple):
    """Documents in the order of their keys' code points; `next_after` is empty on the last page."""

    documents: tuple[Document, ...]
    next_after: str


class DocumentConflict(ToolError):
    """The document does not have the version that a change expects: somebody has changed it meanwhile."""


class DocumentStore(Protocol):
    """The caller's own documents in this module. Nobody else's can be reached, another module's neither.

    A key is 1 to 200 characters without control characters, a value at most 256 KiB of JSON, and a user has at most
    1000 documents in a module. Every method is a transaction of its own. `version` makes a change conditional: 0 means
    that there is no such document yet, None that any version will do.
    """

    async def get(self, key: str) -> Document | None:
        """Return a document, or None."""
        ...

    async def put(self, key: str, value: Any, *, version: int | None = None) -> Document:
        """Store a value.

        Raises:
            DocumentConflict: it has another version.
            ToolError: the key or the value breaks a limit, or there are too many documents.
        """
        ...

    async def delete(self, key: str, *, version: int | None = None) -> bool:
        """Delete a document; tell whether there was one.

        Raises:
            DocumentConflict: it has another version.
        """
        ...

    async def list(self, prefix: str = "", *, after: str = "", limit: int = MAX_PAGE) -> DocumentPage:
        """List the documents whose key begins with `prefix`, those behind the key `after` only; at most 100 at once."""
        ...
