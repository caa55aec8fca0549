"""Organizations and their projects."""

import secrets
from typing import Annotated

from pydantic import Field

from modules.kit import Context, Execution, Hints, SensitiveParameter, ToolError, build_path, tool
from modules.kit.paging import Offset, parse_cursor, read_page
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_length,
)
from modules.kit.polling import LongWaitSeconds, WaitSeconds, poll
from modules.kit.results import Count, CountedPage, Flag, Line, ReadRows, ResultModel, Word, read_at
from modules.kit.text_cleaning import clean_line
from modules.kit.whole_lists import WHOLE, cut_page
from modules.supabase import rest_client
from modules.supabase.parameters import (
    READ_ORGANIZATIONS,
    READ_PROJECTS,
    WRITE_PROJECTS,
    OrganizationSlug,
    ProjectRef,
)
from modules.supabase.prices import PriceQuestion, ask_for_agreement, get_project_price

_REGIONS = frozenset({
    "us-east-1", "us-east-2", "us-west-1", "us-west-2", "ap-east-1", "ap-southeast-1", "ap-northeast-1",
    "ap-northeast-2", "ap-southeast-2", "eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1", "eu-central-1",
    "eu-central-2", "ca-central-1", "ap-south-1", "sa-east-1",
})  # fmt: skip
_REGION_GROUPS = frozenset({"americas", "emea", "apac"})
_RESTORE_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=True)
_READY = "ACTIVE_HEALTHY"
_RESTING = frozenset({"INACTIVE", "GOING_DOWN", "REMOVED", "PAUSING"})
_PASSWORD_LENGTHS = range(12, 129)
_PROJECTS = "/v1/projects"
_BY_OFFSET = Offset(size="limit", parameter="offset", total=("pagination", "count"))
_HEALTH_SERVICES = ("auth", "db", "pooler", "realtime", "rest", "storage")


class OrganizationRow(ResultModel):
    slug: Line
    name: Word = ""


class OrganizationList(ResultModel):
    organizations: list[OrganizationRow]
    unreadable: Count = 0


class OrganizationDetails(ResultModel):
    slug: Line = ""
    name: Word = ""
    plan: Word = ""


class ProjectRow(ResultModel):
    ref: Line
    name: Word = ""
    region: Word = ""
    status: Word = ""
    organization: Annotated[Word, read_at("organization_slug")] = ""
    is_branch: Flag = False


class ProjectList(CountedPage):
    projects: list[ProjectRow]


class ProjectDetails(ResultModel):
    ref: Line
    name: Word = ""
    organization: Annotated[Word, read_at("organization_slug")] = ""
    region: Word = ""
    status: Word = ""
    created_at: Word = ""
    database_host: Annotated[Word, read_at("database", "host")] = ""
    postgres_version: Annotated[Word, read_at("database", "version")] = ""


class CreatedProject(PriceQuestion):
    """The new project, or the price to confirm."""

    ref: Word = ""
    name: Word = ""
    region: Word = ""
    status: Word = ""
    created: bool = False


class AcceptedChange(ResultModel):
    """`status` as it was last seen; without `next_step` the project is where it should be."""

    ref: Line
    accepted: bool = True
    status: Word = ""
    next_step: Word = ""


class HealthRow(ResultModel):
    name: Line
    status: Word = ""
    error: Word = ""


class ProjectHealth(ResultModel):
    services: list[HealthRow]
    unreadable: Count = 0


@tool(hints=READ_HINTS, scopes=[READ_ORGANIZATIONS])
async def list_organizations(context: Context) -> OrganizationList:
    """The organizations of the connected account."""
    read = await rest_client.fetch_rows(context, OrganizationRow, "/v1/organizations")
    return OrganizationList(organizations=read.rows, unreadable=read.unreadable)


@tool(hints=READ_HINTS, scopes=[READ_ORGANIZATIONS])
async def get_organization(context: Context, slug: OrganizationSlug) -> OrganizationDetails:
    """One organization with its plan."""
    found = await rest_client.fetch(context, OrganizationDetails, build_path("/v1/organizations/{}", slug))
    return found.model_copy(update={"slug": slug})


@tool(hints=READ_HINTS, scopes=[READ_PROJECTS])
async def list_projects(
    context: Context,
    organization: Annotated[OptionalParameter[OrganizationSlug], Field(description="Only of this organization")] = None,
    search: Annotated[ShortText, Field(description="Part of the name or ref")] = "",
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> ProjectList:
    """Projects with ref, region and status."""
    if organization is None:
        wanted = search.casefold()
        asked = parse_cursor(cursor, WHOLE, f"{_PROJECTS} {wanted}", per_page)
        whole = await rest_client.fetch_rows(context, ProjectRow, _PROJECTS)
        kept = [one for one in whole.rows if wanted in one.name.casefold() or wanted in one.ref]
        page = cut_page(asked, ReadRows(kept, whole.unreadable))
        return ProjectList(projects=page.rows, **page.fields)
    address = build_path("/v1/organizations/{}/projects", organization)
    asked = parse_cursor(cursor, _BY_OFFSET, f"{address} {search}", per_page)
    query = {"search": search or None, **asked.parameters}
    answer = await rest_client.send_request(context, "GET", address, query=query)
    found = await read_page(answer, asked, ProjectRow, "projects")
    return ProjectList(projects=found.rows, **found.fields)


@tool(hints=READ_HINTS, scopes=[READ_PROJECTS])
async def get_project(context: Context, ref: ProjectRef) -> ProjectDetails:
    """One project: status, region, database."""
    return await rest_client.fetch(context, ProjectDetails, build_path("/v1/projects/{}", ref))


@tool(hints=READ_HINTS, scopes=[READ_PROJECTS])
async def get_project_health(context: Context, ref: ProjectRef) -> ProjectHealth:
    """How the services of a project are: database, auth, API, storage."""
    address = build_path("/v1/projects/{}/health", ref)
    read = await rest_client.fetch_rows(context, HealthRow, address, query={"services": _HEALTH_SERVICES})
    return ProjectHealth(services=read.rows, unreadable=read.unreadable)


@tool(hints=ADD_HINTS, scopes=[WRITE_PROJECTS, READ_PROJECTS, READ_ORGANIZATIONS], execution=Execution.ASYNC, asks=True)
async def create_project(
    context: Context,
    name: Annotated[str, limit_length(1), Field(description="Name")],
    organization: OrganizationSlug,
    region: Annotated[ShortText, Field(description="Such as eu-central-1; or americas, emea, apac")],
    db_pass: Annotated[
        OptionalParameter[str], SensitiveParameter(), Field(description="Left out: one is made; reset it to know it")
    ] = None,
    confirm_cost: Annotated[ShortText, Field(description="The price that the user agreed to")] = "",
    wait_seconds: LongWaitSeconds = 0,
) -> CreatedProject:
    """Create a project, which may cost money: without confirm_cost the user is asked, or the price told."""
    selection = _select_region(region)
    password = _check_password(db_pass)
    price = get_project_price(*await _read_price_facts(context, organization))
    thing = f"the project {clean_line(name)[:60]!r} in the organization {organization!r}"
    if question := await ask_for_agreement(context, thing, price, confirm_cost, organization):
        return CreatedProject(**question.model_dump())
    body = {"name": name, "organization_slug": organization, "region_selection": selection, "db_pass": password}
    made = await rest_client.fetch(context, ProjectDetails, _PROJECTS, method="POST", json=body)
    status = await _poll_status(context, made.ref, _READY, wait_seconds) or made.status
    return CreatedProject(
        ref=made.ref, name=made.name, region=made.region, status=status, created=True,
        next_step=_describe_next_step(status, _READY),
    )  # fmt: skip


def _select_region(region: str) -> dict[str, str]:
    if region in _REGION_GROUPS:
        return {"type": "smartGroup", "code": region}
    if region in _REGIONS:
        return {"type": "specific", "code": region}
    known = ", ".join([*sorted(_REGION_GROUPS), *sorted(_REGIONS)])
    raise ToolError(f"region is none of Supabase's: give one of {known}")


def _check_password(password: str | None) -> str:
    """The password, or a new one that nobody is told: whoever needs it resets it in the project's settings.

    Raises:
        ToolError: it is too short or too long; the text does not repeat it.
    """
    if password is None:
        return secrets.token_urlsafe(32)
    if len(password) not in _PASSWORD_LENGTHS:
        raise ToolError(
            f"db_pass must have {_PASSWORD_LENGTHS.start} to {_PASSWORD_LENGTHS.stop - 1} characters; left out, a "
            "strong one is made"
        )
    return password


async def _read_price_facts(context: Context, organization: str) -> tuple[str, int]:
    """The plan of an organization, and how many of its projects run."""
    details = await rest_client.fetch(context, OrganizationDetails, build_path("/v1/organizations/{}", organization))
    if details.plan == "free":
        return details.plan, 0
    # Strictly: a project that was left out here would make the next one look cheaper.
    rows = (await rest_client.send_request(context, "GET", _PROJECTS)).read(list[ProjectRow])
    running = [one for one in rows if one.organization == organization and one.status not in _RESTING]
    return details.plan, len(running)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_PROJECTS, READ_PROJECTS])
async def pause_project(context: Context, ref: ProjectRef, wait_seconds: WaitSeconds = 0) -> AcceptedChange:
    """Pause a project: its database and API stop until it is restored."""
    await rest_client.send_change(context, "POST", build_path("/v1/projects/{}/pause", ref))
    return await _wait_for_status(context, ref, "INACTIVE", wait_seconds)


@tool(hints=_RESTORE_HINTS, scopes=[WRITE_PROJECTS, READ_PROJECTS], execution=Execution.ASYNC)
async def restore_project(context: Context, ref: ProjectRef, wait_seconds: LongWaitSeconds = 0) -> AcceptedChange:
    """Start a paused project again."""
    await rest_client.send_change(context, "POST", build_path("/v1/projects/{}/restore", ref))
    return await _wait_for_status(context, ref, _READY, wait_seconds)


async def _wait_for_status(context: Context, ref: str, status: str, seconds: int) -> AcceptedChange:
    """Wait until a project has a status, or for so long."""
    found = await _poll_status(context, ref, status, seconds)
    return AcceptedChange(ref=ref, status=found, next_step=_describe_next_step(found, status))


async def _poll_status(context: Context, ref: str, status: str, seconds: int) -> str:
    """Look at a project until it has a status, or for so long; return the last one that was seen, or ""."""

    async def read_status() -> str:
        return (await rest_client.fetch(context, ProjectDetails, build_path("/v1/projects/{}", ref))).status

    seen = await poll(context, read_status, lambda seen: seen == status, seconds=seconds, message=f"until {status}")
    return seen or ""


def _describe_next_step(found: str, status: str) -> str:
    return "" if found == status else f"it takes minutes: look at the project until its status is {status}"


TOOLS = (
    list_organizations,
    get_organization,
    list_projects,
    get_project,
    get_project_health,
    create_project,
    pause_project,
    restore_project,
)
