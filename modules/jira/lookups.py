"""Look-ups that other tools need first: projects, people, and whose account this is."""

from typing import Annotated, Any

from pydantic import Field

from modules.jira import rest_client
from modules.jira.field_values import Named, Person
from modules.jira.parameters import READ_USERS, READ_WORK, IssueKey, ProjectKey
from modules.kit import Context, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, ShortText, limit_length
from modules.kit.results import CountedPage, Flag, Identifier, ListPage, OptionalIdentifier, ResultModel, Word, read_at


class JiraProject(ResultModel):
    key: Identifier
    id: OptionalIdentifier = ""
    name: Word = ""
    kind: Annotated[Word, read_at("projectTypeKey")] = ""
    lead: Person = ""
    category: Annotated[Named, read_at("projectCategory")] = ""
    archived: Flag = False


class JiraProjects(CountedPage):
    projects: list[JiraProject]


class JiraUser(ResultModel):
    """`kind` is missing for a person: app and customer are told."""

    accountId: Identifier  # noqa: N815
    name: Annotated[Word, read_at("displayName")] = ""
    email: Annotated[Word, read_at("emailAddress")] = ""
    time_zone: Annotated[Word, read_at("timeZone")] = ""
    kind: Annotated[Word, read_at("accountType")] = ""
    active: bool = True


class JiraUsers(ListPage):
    users: list[JiraUser]


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_projects(
    context: Context,
    query: Annotated[OptionalParameter[ShortText], Field(description="In name or key")] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> JiraProjects:
    """Projects that the account sees, by name."""
    page = await rest_client.fetch_page(
        context, JiraProject, "/rest/api/3/project/search", rows="values", cursor=cursor, per_page=per_page,
        query={"query": query, "orderBy": "name", "expand": "lead"},
    )  # fmt: skip
    return JiraProjects(projects=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_USERS])
async def search_users(
    context: Context,
    query: Annotated[str, limit_length(1), Field(description="Part of name or e-mail")],
    issue: Annotated[OptionalParameter[IssueKey], Field(description="Who can be assigned to it")] = None,
    project: Annotated[OptionalParameter[ProjectKey], Field(description="Who can be assigned in it")] = None,
    per_page: PerPage = 20,
    cursor: CursorText = None,
) -> JiraUsers:
    """People with their accountId. A page with few may still not be the last."""
    where: dict[str, Any] = {"issueKey": issue} if issue else {"project": project} if project else {}
    address = "/rest/api/3/user/assignable/search" if where else "/rest/api/3/user/search"
    way = rest_client.ASSIGNABLE_USERS if where else rest_client.USERS
    page = await rest_client.fetch_page(
        context, JiraUser, address, cursor=cursor, per_page=per_page, query={"query": query, **where}, way=way
    )
    return JiraUsers(users=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_USERS])
async def get_myself(context: Context) -> JiraUser:
    """The connected account: accountId, name, time zone."""
    return await rest_client.fetch_one(context, JiraUser, "/rest/api/3/myself")


TOOLS = (list_projects, search_users, get_myself)
