"""Profile of the account, its workspaces, and their projects."""

from modules.kit import Context, build_path, tool
from modules.kit.paging import PageNumber, parse_cursor, read_page
from modules.kit.parameters import READ_HINTS, CursorText, PerPage
from modules.toggl.parameters import READ, WorkspaceId
from modules.toggl.rest_client import choose_workspace, fetch_profile, fetch_workspaces, read_list, send_request
from modules.toggl.results import Project, Projects, TogglProfile, Workspaces

PAGING = PageNumber(size="per_page", parameter="page")


@tool(hints=READ_HINTS, scopes=[READ], keywords="who, account, time zone")
async def get_profile(context: Context) -> TogglProfile:
    """Whose the connected account is, its time zone and its workspace."""
    return await fetch_profile(context)


@tool(hints=READ_HINTS, scopes=[READ])
async def list_workspaces(context: Context) -> Workspaces:
    """Workspaces of the account, at most 200."""
    read = await fetch_workspaces(context)
    return Workspaces(workspaces=read.rows, unreadable=read.unreadable)


@tool(hints=READ_HINTS, scopes=[READ])
async def list_projects(
    context: Context, workspace_id: WorkspaceId = None, per_page: PerPage = 50, cursor: CursorText = None
) -> Projects:
    """Projects of a workspace, with their ids and clients."""
    address = build_path("/workspaces/{}/projects", await choose_workspace(context, workspace_id))
    asked = parse_cursor(cursor, PAGING, address, per_page)
    answer = await send_request(context, "GET", address, query=asked.parameters)
    if not read_list(answer):
        return Projects(projects=[])
    page = await read_page(answer, asked, Project)
    return Projects(projects=page.rows, **page.fields)


TOOLS = (get_profile, list_workspaces, list_projects)
