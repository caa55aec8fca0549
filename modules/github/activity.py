"""Tools for the connected account: its profile, notifications and events."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.github.shared import rest_client
from modules.github.shared.parameters import NOTIFICATIONS, USER, LoginName
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, build_path, tool
from modules.kit.parameters import (
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    Timestamp,
    drop_bounds,
    format_timestamp,
)
from modules.kit.results import Count, Identifier, Line, ListPage, ResultModel, Url, Word, read_at

GITHUB_MAX_NOTIFICATIONS = 50

ThreadId = Annotated[str, Field(pattern=r"^[0-9]{1,19}$", json_schema_extra=drop_bounds)]


class AccountProfile(ResultModel):
    login: Line
    name: Word = ""
    email: Word = ""
    company: Word = ""
    location: Word = ""
    bio: Word = ""
    html_url: Url


class UserEvent(ResultModel):
    """`number` and `title` are those of the issue or pull request."""

    type: Line
    repo: Annotated[Line, read_at("repo", "name")]
    created_at: Line
    action: Annotated[Word, read_at("payload", "action")] = ""
    ref: Annotated[Word, read_at("payload", "ref")] = ""
    ref_type: Annotated[Word, read_at("payload", "ref_type")] = ""
    number: Count = 0
    title: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read_subject(cls, raw: Any) -> Any:
        event = _to_mapping(raw)
        payload = _to_mapping(event.get("payload"))
        about = _to_mapping(payload.get("issue") or payload.get("pull_request") or payload.get("release"))
        title = about.get("title") or about.get("name")
        return {**event, "number": about.get("number"), "title": title}


class Notification(ResultModel):
    id: Identifier
    reason: Line
    unread: bool
    type: Annotated[Line, read_at("subject", "type")]
    title: Annotated[Line, read_at("subject", "title")]
    repository: Annotated[Line, read_at("repository", "full_name")]
    number: Annotated[Word, read_at("number")] = ""
    updated_at: Line

    @model_validator(mode="before")
    @classmethod
    def _read_number(cls, raw: Any) -> Any:
        notification = _to_mapping(raw)
        url = _to_mapping(notification.get("subject")).get("url")
        last = url.rsplit("/", 1)[-1] if isinstance(url, str) else ""
        return {**notification, "number": last if last.isdigit() else ""}


class UserEvents(ListPage):
    events: list[UserEvent]


class Notifications(ListPage):
    notifications: list[Notification]


@tool(hints=READ_HINTS, scopes=[USER], keywords="who am I, my account")
async def get_me(context: Context) -> AccountProfile:
    """The connected account."""
    return await rest_client.fetch_one(context, AccountProfile, "/user")


@tool(hints=READ_HINTS, scopes=[USER])
async def list_user_events(
    context: Context,
    username: Annotated[OptionalParameter[LoginName], Field(description="Default: connected account")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> UserEvents:
    """Recent events of an account, newest first."""
    login = username or (await rest_client.fetch_one(context, AccountProfile, "/user")).login
    address = build_path("/users/{}/events", login)
    page = await rest_client.fetch_page(
        context, UserEvent, address, cursor=cursor, per_page=per_page, missing="there is no such account"
    )
    return UserEvents(events=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[NOTIFICATIONS])
async def list_notifications(
    context: Context,
    all: Annotated[bool, Field(description="Read ones too")] = False,
    participating: Annotated[bool, Field(description="Only own threads")] = False,
    since: Annotated[Timestamp, Field(description="From")] = None,
    before: Annotated[Timestamp, Field(description="To")] = None,
    per_page: Annotated[int, Field(ge=1, le=GITHUB_MAX_NOTIFICATIONS, description="At most 50")] = 30,
    cursor: CursorText = None,
) -> Notifications:
    """Notifications of the connected account."""
    query = {
        "all": all,
        "participating": participating,
        "since": format_timestamp(since),
        "before": format_timestamp(before),
    }
    page = await rest_client.fetch_page(
        context, Notification, "/notifications", query=query, cursor=cursor, per_page=per_page
    )
    return Notifications(notifications=page.rows, **page.fields)


@tool(hints=CHANGE_HINTS, scopes=[NOTIFICATIONS])
async def mark_notification_read(
    context: Context,
    thread_id: Annotated[ThreadId, Field(description="The notification's id")],
) -> Confirmation:
    """Mark a notification as read."""
    address = build_path("/notifications/threads/{}", thread_id)
    missing = "there is no such notification"
    return await rest_client.fetch_confirmation(context, "PATCH", address, status=205, missing=missing)


def _to_mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


TOOLS = (get_me, list_user_events, list_notifications, mark_notification_read)
