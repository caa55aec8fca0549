"""Parts of a page: labels and attached files."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from modules.confluence import rest_client
from modules.confluence.parameters import READ_ATTACHMENTS, READ_PAGES, WRITE_LABELS, Label, PageId
from modules.confluence.results import Moment, drop_usual, get_mapping, read_address
from modules.kit import Context, Hints, build_path, tool
from modules.kit.parameters import CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter, PerPage, limit_items
from modules.kit.results import (
    Count,
    Identifier,
    Line,
    ListPage,
    Name,
    OptionalUrl,
    ResultModel,
    Word,
    read_at,
    read_rows,
)

LABELS = "/wiki/rest/api/content/{}/label"
# What Confluence's own clients send with changes by version 1, which is also open to browsers.
_NO_BROWSER = {"X-Atlassian-Token": "no-check"}
_LABEL_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=True)


class ConfluenceLabel(ResultModel):
    """`prefix` is missing where everybody sees the label: my, team, system."""

    name: Line
    prefix: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return drop_usual(raw, prefix="global")


class ConfluenceLabels(ListPage):
    labels: list[ConfluenceLabel]


class ConfluenceAttachment(ResultModel):
    """A file; in a page's Markdown, `attachment:` and its title lead to it."""

    id: Identifier
    title: Name = ""
    type: Annotated[Word, read_at("mediaType")] = ""
    bytes: Annotated[Count, read_at("fileSize")] = 0
    version: Annotated[Count, read_at("version", "number")] = 0
    created: Annotated[Moment, read_at("createdAt")] = ""
    comment: Word = ""
    url: OptionalUrl = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = get_mapping(raw)
        return {**found, "url": read_address({"download": found.get("downloadLink")}, "download").partition("?")[0]}


class ConfluenceAttachments(ListPage):
    attachments: list[ConfluenceAttachment]


@tool(hints=READ_HINTS, scopes=[READ_PAGES])
async def list_labels(
    context: Context, page: PageId, per_page: PerPage = 50, cursor: CursorText = None
) -> ConfluenceLabels:
    """Labels of a page."""
    address = build_path("/wiki/api/v2/pages/{}/labels", page)
    found = await rest_client.fetch_page(context, ConfluenceLabel, address, cursor=cursor, per_page=per_page)
    return ConfluenceLabels(labels=found.rows, **found.fields)


@tool(hints=_LABEL_HINTS, scopes=[WRITE_LABELS])
async def add_labels(
    context: Context,
    page: PageId,
    labels: Annotated[list[Label], limit_items(1, 50), Field(description="Without spaces")],
) -> ConfluenceLabels:
    """Add labels to a page; those that it has stay. The answer is all of them."""
    body = [{"prefix": "global", "name": one} for one in dict.fromkeys(labels)]
    answer = await rest_client.send_request(context, "POST", build_path(LABELS, page), json=body, headers=_NO_BROWSER)
    found = answer.read_part(list[Any], get_mapping(answer.json()).get("results"))
    read = await read_rows(answer, ConfluenceLabel, found)
    return ConfluenceLabels(labels=read.rows, unreadable=read.unreadable)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_LABELS])
async def remove_label(context: Context, page: PageId, label: Label) -> ConfluenceLabel:
    """Remove a label from a page."""
    # By the query, because the other form takes no name with a slash.
    await rest_client.send_change(
        context, "DELETE", build_path(LABELS, page), query={"name": label}, headers=_NO_BROWSER
    )
    return ConfluenceLabel(name=label)


@tool(hints=READ_HINTS, scopes=[READ_ATTACHMENTS])
async def list_attachments(
    context: Context,
    page: PageId,
    filename: Annotated[OptionalParameter[Name], Field(description="Exactly this name", max_length=255)] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> ConfluenceAttachments:
    """Files attached to a page."""
    address = build_path("/wiki/api/v2/pages/{}/attachments", page)
    found = await rest_client.fetch_page(
        context, ConfluenceAttachment, address, cursor=cursor, per_page=per_page, query={"filename": filename}
    )
    return ConfluenceAttachments(attachments=found.rows, **found.fields)


TOOLS = (list_labels, add_labels, remove_label, list_attachments)
