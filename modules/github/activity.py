"""The connected account: who it is, what it was told, and what was done."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.github import client
from modules.github.fields import (
    NOTIFICATIONS,
    READS,
    USER,
    CursorText,
    LoginName,
    Maybe,
    Moment,
    PerPage,
    moment,
)
from modules.github.shapes import Count, Line, Page, Shape, Word, at
from modules.kit import Context, path, tool

GITHUBS_MOST_NOTIFICATIONS = 50


class Me(Shape):
    login: Line
    name: Word = ""
    email: Word = ""
    company: Word = ""
    location: Word = ""
    bio: Word = ""
    html_url: Line


class Event(Shape):
    """`number` and `title` are those of the issue or pull request."""

    type: Line
    repo: Annotated[Line, at("repo", "name")]
    created_at: Line
    action: Annotated[Word, at("payload", "action")] = ""
    ref: Annotated[Word, at("payload", "ref")] = ""
    number: Count = 0
    title: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _subject(cls, raw: Any) -> Any:
        given = _mapping(raw)
        payload = _mapping(given.get("payload"))
        about = _mapping(payload.get("issue") or payload.get("pull_request") or payload.get("release"))
        title = about.get("title") or about.get("name")
        return {**given, "number": about.get("number"), "title": title}


class Notification(Shape):
    id: Line
    reason: Line
    unread: bool
    type: Annotated[Line, at("subject", "type")]
    title: Annotated[Line, at("subject", "title")]
    repository: Annotated[Line, at("repository", "full_name")]
    number: Annotated[Word, at("number")] = ""
    updated_at: Line

    @model_validator(mode="before")
    @classmethod
    def _number(cls, raw: Any) -> Any:
        given = _mapping(raw)
        url = _mapping(given.get("subject")).get("url")
        last = url.rsplit("/", 1)[-1] if isinstance(url, str) else ""
        return {**given, "number": last if last.isdigit() else ""}


class Events(Page):
    events: list[Event]


class Notifications(Page):
    notifications: list[Notification]


@tool(hints=READS, scopes=[USER])
async def get_me(context: Context) -> Me:
    """The connected account."""
    return await client.one(context, Me, "/user")


@tool(hints=READS, scopes=[USER])
async def list_user_events(
    context: Context,
    username: Annotated[Maybe[LoginName], Field(description="Default: connected account")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Events:
    """What an account did lately, newest first."""
    login = username or (await client.one(context, Me, "/user")).login
    address = path("/users/{}/events", login)
    found, rest, _ = await client.page(
        context, Event, address, cursor=cursor, per_page=per_page, missing="there is no such account"
    )
    return Events(events=found, nextCursor=rest)


@tool(hints=READS, scopes=[NOTIFICATIONS])
async def list_notifications(
    context: Context,
    all: Annotated[bool, Field(description="Read ones too")] = False,
    participating: Annotated[bool, Field(description="Only own threads")] = False,
    since: Annotated[Moment, Field(description="From")] = None,
    before: Annotated[Moment, Field(description="To")] = None,
    per_page: Annotated[int, Field(ge=1, le=GITHUBS_MOST_NOTIFICATIONS, description="At most 50")] = 30,
    cursor: CursorText = None,
) -> Notifications:
    """Notifications of the connected account."""
    query = {"all": all, "participating": participating, "since": moment(since), "before": moment(before)}
    found, rest, _ = await client.page(
        context, Notification, "/notifications", query=query, cursor=cursor, per_page=per_page
    )
    return Notifications(notifications=found, nextCursor=rest)


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


TOOLS = (get_me, list_user_events, list_notifications)
