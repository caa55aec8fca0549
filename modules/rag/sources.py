"""Sources of documents: a GitHub repository, Notion pages, a Confluence space; read by the account of who added it."""

import posixpath
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from modules.kit import Context, ToolError
from modules.kit.front_matter import find_first_heading, read_front_matter

MAX_ITEMS = 5_000
"""Documents of one source."""
MAX_PAGES = 500
"""Pages that one listing, or the reading of one document, asks for."""
TEXT_ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc")
REPOSITORY_TREE, FILE_CONTENTS = "github.get_repository_tree", "github.get_file_contents"
NOTION_SEARCH, NOTION_MARKDOWN = "notion.search_pages", "notion.get_page_markdown"
CONFLUENCE_PAGES, CONFLUENCE_PAGE = "confluence.list_pages", "confluence.get_page"
READS = (REPOSITORY_TREE, FILE_CONTENTS, NOTION_SEARCH, NOTION_MARKDOWN, CONFLUENCE_PAGES, CONFLUENCE_PAGE)
"""Tools of other modules by which sources are read."""


class SourceItem(NamedTuple):
    """A document as its source lists it: `version` changes with its contents. `skipped` says why it cannot be read."""

    key: str
    address: str
    version: str
    title: str = ""
    url: str = ""
    skipped: str = ""


class SourceText(NamedTuple):
    """Contents of a document; empty ones of a title or tags where the source has none of its own."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()
    url: str = ""


class SourceListing(NamedTuple):
    """All that a source has. `is_complete`: what is not listed is not there any more."""

    items: Sequence[SourceItem]
    is_complete: bool


class DocumentSource(Protocol):
    """Where documents come from."""

    async def list_items(self, context: Context) -> SourceListing:
        """List the documents.

        Raises:
            ToolError: the account cannot read them.
        """
        ...

    async def read_item(self, context: Context, item: SourceItem) -> SourceText:
        """Read a document.

        Raises:
            ToolError: it cannot be read.
        """
        ...

    @property
    def label(self) -> str:
        """Name of the source for people."""
        ...


class _Place(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GitHubSource(_Place):
    """Text files of a GitHub repository, or of one of its folders."""

    kind: Literal["github"] = "github"
    repository: str = Field(pattern=r"^[\w.-]{1,100}/[\w.-]{1,100}$", description="owner/name")
    ref: str = Field(default="HEAD", max_length=200, description="Branch, tag or SHA")
    folder: str = Field(default="", max_length=500, description="Folder; default all")

    @property
    def label(self) -> str:
        return f"GitHub {self.repository}" + (f", {self.folder}" if self.folder else "")

    async def list_items(self, context: Context) -> SourceListing:
        owner, _, repo = self.repository.partition("/")
        items, is_complete = list[SourceItem](), True
        asked = {"owner": owner, "repo": repo, "ref": self.ref, "path": self.folder.strip("/"), "with_shas": True}
        async for page in _read_pages(context, REPOSITORY_TREE, asked):
            is_complete = is_complete and _is_whole(page) and not page.get("truncated", False)
            for path, sha in zip(page["paths"], page.get("shas", []), strict=False):
                if path.lower().endswith(TEXT_ENDINGS):
                    whole = posixpath.join(self.folder.strip("/"), path)
                    items.append(SourceItem(f"{self.repository}/{whole}", whole, sha))
        return SourceListing(items, is_complete)

    async def read_item(self, context: Context, item: SourceItem) -> SourceText:
        owner, _, repo = self.repository.partition("/")
        asked = {"owner": owner, "repo": repo, "path": item.address, "ref": self.ref, "with_url": True}
        text, url = "", ""
        async for page in _read_pages(context, FILE_CONTENTS, asked):
            if page.get("binary") or page.get("too_large"):
                raise ToolError("binary, or too large to be read")
            text, url = text + page.get("text", ""), page.get("url", url)
        front = read_front_matter(text)
        title = front.title or find_first_heading(front.rest) or posixpath.basename(item.address)
        return SourceText(text, title, front.tags, url)


class NotionSource(_Place):
    """Notion pages that the account sees; with words, only those whose title has them."""

    kind: Literal["notion"] = "notion"
    title_words: str = Field(default="", max_length=200, description="Only pages with these words in their title")

    @property
    def label(self) -> str:
        return f"Notion pages about {self.title_words}" if self.title_words else "Notion"

    async def list_items(self, context: Context) -> SourceListing:
        asked = {"query": self.title_words, "kind": "page", "per_page": 100}
        items, is_complete = list[SourceItem](), True
        async for answer in _read_pages(context, NOTION_SEARCH, asked):
            is_complete = is_complete and _is_whole(answer)
            for page in answer["results"]:
                if not page.get("in_trash", False):
                    item = SourceItem(f"notion/{page['id']}", page["id"], page.get("last_edited_time", ""))
                    items.append(item._replace(title=page.get("title", ""), url=page.get("url", "")))
        return SourceListing(items, is_complete)

    async def read_item(self, context: Context, item: SourceItem) -> SourceText:
        asked = {"page_id": item.address}
        parts = [page["markdown"] async for page in _read_pages(context, NOTION_MARKDOWN, asked)]
        return SourceText("".join(parts), item.title, url=item.url)


class ConfluenceSource(_Place):
    """Pages of a Confluence space."""

    kind: Literal["confluence"] = "confluence"
    space: str = Field(min_length=1, max_length=255, description="Key or id of the space")

    @property
    def label(self) -> str:
        return f"Confluence {self.space}"

    async def list_items(self, context: Context) -> SourceListing:
        items, is_complete = list[SourceItem](), True
        async for answer in _read_pages(context, CONFLUENCE_PAGES, {"space": self.space, "per_page": 100}):
            is_complete = is_complete and _is_whole(answer)
            for page in answer["pages"]:
                item = SourceItem(f"confluence/{self.space}/{page['id']}", page["id"], str(page.get("version", "")))
                items.append(item._replace(title=page.get("title", ""), url=page.get("url", "")))
        return SourceListing(items, is_complete)

    async def read_item(self, context: Context, item: SourceItem) -> SourceText:
        text, offset = "", 0
        for _ in range(MAX_PAGES):
            page = await context.read(CONFLUENCE_PAGE, page=item.address, offset=offset)
            text, offset = text + page.get("body", ""), page.get("next_offset", 0)
            if not offset:
                break
        return SourceText(text, item.title, url=item.url)


def _is_whole(page: Mapping[str, Any]) -> bool:
    """Check whether a page of a list has all of its rows; one that was left out may be a document that still exists."""
    return not page.get("incomplete", False) and not page.get("unreadable", 0)


AnySource = GitHubSource | NotionSource | ConfluenceSource


class SavedSource(BaseModel):
    """A source as it is stored; its documents go to `collection`. `report` is that of the last run."""

    model_config = ConfigDict(extra="forbid")

    place: AnySource = Field(discriminator="kind")
    collection: UUID
    report: "SyncReport | None" = None


class SkippedItem(BaseModel):
    """A document that was not stored, and why."""

    file_path: str
    reason: str


class SyncReport(BaseModel):
    """What a run has done. `skipped` has the first 100 of `skipped_count`; `is_complete`: what the source has no more
    was removed."""

    at: str
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped_count: int = 0
    skipped: list[SkippedItem] = []
    is_complete: bool = True


async def _read_pages(context: Context, tool: str, asked: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Read all pages of a tool's result.

    Raises:
        ToolError: it failed, or has no end.
    """
    cursor = ""
    for _ in range(MAX_PAGES):
        page = await context.read(tool, **asked, **({"cursor": cursor} if cursor else {}))
        yield page
        cursor = page.get("nextCursor", "")
        if not cursor:
            return
    raise ToolError(f"there are more than {MAX_PAGES} pages of it")
