"""What a Confluence site holds: spaces, their pages with all versions, comments, labels and files."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]

ADA = {"accountId": "5b10a2844c20165700ede21g", "displayName": "Ada Lovelace", "publicName": "ada",
       "accountType": "atlassian", "accountStatus": "active", "email": "", "timeZone": "Europe/London",
       "personalSpaceId": None, "isExternalCollaborator": False}  # fmt: skip
BASE = "https://acme.atlassian.net/wiki"
MOMENT = "2026-01-31T12:00:00.123Z"
TINY_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def make_version(number: int, message: str = "") -> Json:
    """Make a version by Ada."""
    return {"createdAt": MOMENT, "message": message, "number": number, "minorEdit": False,
            "authorId": ADA["accountId"], "ncsStepVersion": None, "contributorIds": [ADA["accountId"]]}  # fmt: skip


@dataclass
class Page:
    """A page; `bodies` and `titles` are those of its versions, the current one last."""

    id: str
    space: str
    parent: str | None
    titles: list[str]
    bodies: list[str]
    messages: list[str]
    status: str = "current"
    labels: list[str] = field(default_factory=list[str])
    files: list[Json] = field(default_factory=list[Json])

    @property
    def title(self) -> str:
        return self.titles[-1]

    @property
    def body(self) -> str:
        return self.bodies[-1]


@dataclass
class Comment:
    """A comment below a page, or a reply to one."""

    id: str
    page: str
    parent: str | None
    bodies: list[str]


@dataclass
class World:
    """The site."""

    spaces: dict[str, str] = field(default_factory=lambda: {"98306": "ENG", "98307": "~5b10a2844c20165700ede21g"})
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    comments: dict[str, Comment] = field(default_factory=dict[str, Comment])
    ids: Any = field(default_factory=lambda: count(98_401))

    def add(self, title: str = "A page", body: str = "<p>text</p>", **fields: Any) -> str:
        """Add a page; its id."""
        identity = str(next(self.ids))
        known = {"space": "98306", "parent": None, "messages": [""], **fields}
        self.pages[identity] = Page(identity, titles=[title], bodies=[body], **known)
        return identity

    def add_comment(self, page: str, body: str = "<p>text</p>", parent: str | None = None) -> str:
        """Add a comment; its id."""
        identity = str(next(self.ids))
        self.comments[identity] = Comment(identity, page, parent, [body])
        return identity


def show_links(page: Page, space: str) -> Json:
    """The links of a page, which are below the site's address."""
    title = quote(page.title.replace(" ", "+"), safe="+")
    return {
        "editui": f"/pages/resumedraft.action?draftId={page.id}",
        "webui": f"/spaces/{space}/pages/{page.id}/{title}",
        "edituiv2": f"/spaces/{space}/pages/edit-v2/{page.id}",
        "tinyui": f"/x/{encode_tiny(int(page.id))}",
    }


def encode_tiny(number: int) -> str:
    """The short form of a page's id: base64 of its bytes, low ones first, without zeros at its end."""
    bits = "".join(f"{byte:08b}" for byte in number.to_bytes(8, "little")) + "00"
    return "".join(TINY_SIGNS[int(bits[place : place + 6], 2)] for place in range(0, 66, 6)).rstrip("A")
