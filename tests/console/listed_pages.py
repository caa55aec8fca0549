"""Every list of the console: where it is, what it says when it is empty, how it is filtered, sorted and paged.

A list that is short has a reason why it is not searched, sorted or paged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

Kind = Literal["row", "listitem", "card"]
"""How a list draws its items: as rows of a table, as items of a list, as folded cards."""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """One list. `path` may name things that the test has made, as ``{role}``."""

    name: str
    path: str
    api: str
    """Path of the request that the list is read by, below ``/api/v1/``; ``*`` stands for an identifier."""
    label: str
    """Its accessible name."""
    sources: Sequence[str]
    """Files of `src/pages` that draw it."""
    empty: str
    kind: Kind = "row"
    who: Literal["administrator", "operator", "newcomer"] = "administrator"
    """Who looks: the newcomer administers a tenant in which nothing has happened yet."""
    long: bool = False
    """Looked at by the long test alone."""
    search: str = ""
    """Name of its search."""
    words: str = ""
    """What is typed there; one item has it."""
    no_match: str = "Nothing matches “zz qq”"
    head: str = ""
    """The column that is pressed to sort."""
    order: str = ""
    """The order that is chosen where there are no columns."""
    paged: bool = True
    short: str = ""
    """Why it has no search, no order or no pages."""
    nothing: Mapping[str, Any] = field(default_factory=lambda: {"items": [], "next_cursor": None})
    """The answer of the API without items."""
    some: Mapping[str, Any] | None = None
    """An answer with items, where the test makes none."""

    @property
    def area(self) -> str:
        """The page that it is on: the first part of its path."""
        return urlsplit(self.path).path.strip("/")


IDENTITIES = {
    "items": [
        {
            "id": "00000000-0000-4000-8000-000000000001",
            "issuer": "https://idp.test",
            "subject": "1",
            "email": "eve@idp.test",
            "created_at": "2026-01-01T00:00:00Z",
            "last_sign_in_at": "2026-01-01T00:00:00Z",
        }
    ],
    "next_cursor": None,
}
OAUTH_CLIENTS = {
    "items": [
        {
            "id": "00000000-0000-4000-8000-000000000001",
            "provider": "notion",
            "client_id": "made-up",
            "role_id": None,
            "role": "",
            "state": "ok",
            "accounts": 1,
        }
    ],
    "next_cursor": None,
}
MANDATES = {
    "items": [
        {
            "id": "00000000-0000-4000-8000-000000000001",
            "user_email": "eve@umbrella.test",
            "purpose": "schedule",
            "title": "Nightly report",
            "tools": ["knowledge_graph.read_graph"],
            "client": "",
            "created_at": "2026-01-01T00:00:00Z",
            "consented_at": "2026-01-01T00:00:00Z",
            "expires_at": "2027-01-01T00:00:00Z",
            "last_used_at": None,
        }
    ],
    "next_cursor": None,
}
FIXED = "as many as the product has kinds of them"
FEW = "fifty at most"
PAGES: Sequence[ListedPage] = (
    ListedPage(
        "people",
        "/users",
        "users",
        "People",
        ["users/UsersPage"],
        "Nobody yet",
        search="Search by name or address",
        words="amy",
        head="E-mail address",
    ),
    ListedPage(
        "allow list",
        "/users?dialog=allow-list",
        "allow-list",
        "Who may sign in",
        ["users/AllowList"],
        "Nobody may sign in but people who are here already.",
        "listitem",
        long=True,
        search="Search addresses and domains",
        words="amy",
        order="By name, from the end",
    ),
    ListedPage(
        "roles of a person",
        "/users?id={person}&tab=roles",
        "users/*/roles",
        "Roles",
        ["users/UserRoles"],
        "No roles: this person sees no tools.",
        "listitem",
        long=True,
        paged=False,
        short="as many as somebody has given by hand; all are read",
    ),
    ListedPage(
        "connections of a person",
        "/users?id={person}&tab=connections",
        "connections",
        "Connections",
        ["users/UserConnections"],
        "No services are switched on for this person.",
        "listitem",
        long=True,
        short="one for each service",
    ),
    ListedPage(
        "browsers of a person",
        "/users?id={person}&tab=access",
        "sessions",
        "Browsers",
        ["users/UserAccess"],
        "Signed in nowhere.",
        "listitem",
        long=True,
        short=FEW,
    ),
    ListedPage(
        "tokens of a person",
        "/users?id={person}&tab=access",
        "tokens",
        "API tokens",
        ["users/UserAccess"],
        "No tokens.",
        "listitem",
        long=True,
        search="Search tokens by name",
        words="beta",
        order="By name, from the end",
    ),
    ListedPage(
        "applications of a person",
        "/users?id={person}&tab=access",
        "oauth/grants",
        "Applications",
        ["users/UserAccess"],
        "No application was let in.",
        "listitem",
        long=True,
        short=FEW,
    ),
    ListedPage(
        "work in absence",
        "/profile",
        "mandates",
        "Work in absence",
        ["profile/AbsentWork"],
        "Nothing works in absence.",
        "listitem",
        long=True,
        paged=False,
        short=FEW,
        some=MANDATES,
    ),
    ListedPage(
        "accounts of a person",
        "/users?id={person}&tab=access",
        "identities",
        "Accounts to sign in with",
        ["users/UserAccess"],
        "No account is linked.",
        "listitem",
        long=True,
        paged=False,
        short="twenty at most",
        some=IDENTITIES,
    ),
    ListedPage(
        "activity of a person",
        "/users?id={person}&tab=activity",
        "audit",
        "Activity",
        ["users/UserActivity"],
        "Nothing yet.",
        "listitem",
        long=True,
        short="the newest; a link leads to the log, which has filters",
    ),
    ListedPage(
        "access requests",
        "/requests",
        "access-requests",
        "Requests",
        ["requests/RequestsPage"],
        "No requests",
        long=True,
        search="Search by person or tool",
        words="amy",
        head="Asked",
    ),
    ListedPage(
        "roles that allow a request",
        "/requests?id={request}",
        "access-requests/*/roles",
        "Roles that allow it",
        ["requests/ApproveSection"],
        "No role allows it yet.",
        "listitem",
        long=True,
        paged=False,
        short="those that allow it, most members first; any other is found by its name beside it",
    ),
    ListedPage(
        "roles",
        "/roles",
        "roles",
        "Roles",
        ["roles/RolesPage"],
        "No roles yet",
        long=True,
        search="Search by name",
        words="beta",
        head="Priority",
    ),
    ListedPage(
        "order of roles",
        "/roles?view=order",
        "roles",
        "Roles by priority",
        ["roles/RoleOrder"],
        "No roles yet",
        long=True,
        paged=False,
        short="its order is what it shows; it is changed by dragging",
    ),
    ListedPage(
        "members of a role",
        "/roles?id={role}&tab=members",
        "roles/*/users",
        "People",
        ["roles/RoleMembers"],
        "Nobody has this role.",
        "listitem",
        search="Search by name or address",
        words="bob",
        order="By address, from the end",
        long=True,
    ),
    ListedPage(
        "shared accounts",
        "/roles?id={role}&tab=accounts",
        "services",
        "Accounts",
        ["roles/RoleAccounts"],
        "No service that is on needs an account.",
        "listitem",
        long=True,
        paged=False,
        short="one for each service; all are read",
    ),
    ListedPage(
        "services",
        "/services",
        "services",
        "Services",
        ["services/ServicesPage"],
        "No services",
        long=True,
        search="Search by name",
        words="knowledge",
        head="Service",
    ),
    ListedPage(
        "providers",
        "/services?view=providers",
        "providers",
        "Providers",
        ["services/ProvidersView"],
        "No providers",
        search="Search by name or service",
        words="notion",
        head="Provider",
        long=True,
    ),
    ListedPage(
        "OAuth clients",
        "/services?id=notion&tab=oauth",
        "services/*/oauth-clients",
        "Registered clients",
        ["services/OAuthClientList", "services/OAuthTab"],
        "Client ID",
        "listitem",
        long=True,
        paged=False,
        short="everybody's, and one for each role that has its own; without any there is the form alone",
        some=OAUTH_CLIENTS,
    ),
    ListedPage(
        "connected clients",
        "/clients",
        "oauth/grants",
        "Connected",
        ["clients/ConnectedClients"],
        "No connected applications",
        long=True,
        search="Search by client or person",
        words="beta",
        head="Last used",
    ),
    ListedPage(
        "registered clients",
        "/clients?view=registered",
        "oauth/clients",
        "Registered",
        ["clients/RegisteredClients"],
        "No registered clients",
        search="Search by name or person",
        words="beta",
        head="Added",
        long=True,
    ),
    ListedPage(
        "issuers",
        "/clients?view=issuers",
        "oauth/issuers",
        "Trusted issuers",
        ["clients/Issuers"],
        "No trusted issuers",
        search="Search by issuer",
        words="beta",
        head="Issuer",
        long=True,
    ),
    ListedPage(
        "audit log",
        "/logs",
        "audit",
        "Audit log",
        ["logs/LogsPage"],
        "Nothing has happened yet",
        head="Time",
        search="Service or tool: notion.search_pages",
        words="notion.search_pages",
        no_match="Nothing matches these filters",
    ),
    ListedPage(
        "alerts",
        "/settings?view=notices",
        "notification-settings",
        "Alerts",
        ["settings/Notices"],
        "",
        "listitem",
        long=True,
        paged=False,
        short=FIXED,
    ),
    ListedPage(
        "groups and domains",
        "/settings?view=mappings",
        "role-mappings",
        "Groups and domains",
        ["settings/RoleMappings"],
        "Nothing is mapped: roles are given by hand.",
        "listitem",
        search="Search groups, domains and roles",
        words="beta.test",
        order="By group or domain",
    ),
    ListedPage(
        "SCIM tokens",
        "/settings?view=mappings",
        "scim-tokens",
        "Provisioning (SCIM)",
        ["settings/ScimTokens"],
        "No token: people are invited by hand",
        "listitem",
        short="ten at most",
        long=True,
    ),
    ListedPage(
        "doctor",
        "/doctor",
        "doctor",
        "Checks",
        ["doctor/DoctorPage"],
        "",
        "listitem",
        paged=False,
        short=FIXED,
    ),
    ListedPage(
        "health of services",
        "/",
        "connections/counts",
        "Services",
        ["start/dashboard/ServiceHealth"],
        "No service has calls or accounts yet.",
        "listitem",
        long=True,
        who="newcomer",
        paged=False,
        short="one for each service",
        nothing={"counts": []},
        some={"counts": [{"module": "notion", "state": "connected", "count": 1}]},
    ),
    ListedPage(
        "tools",
        "/tools",
        "tool-modules",
        "",
        ["tools/ToolsPage", "tools/queries"],
        "No tools yet",
        "card",
        search="Search tools and services",
        words="knowledge",
        order="By name, from the end",
    ),
    ListedPage(
        "tools of a service",
        "/tools?open=knowledge_graph",
        "tools",
        "Tools of Knowledge graph",
        ["tools/ModuleCard"],
        "",
        "listitem",
        long=True,
        short="the search of the page finds them",
    ),
    ListedPage(
        "tools that one may not use",
        "/tools?hidden=1",
        "tools",
        "Tools that you may not use",
        ["tools/HiddenTools"],
        "None",
        "listitem",
        long=True,
        short="the search of the page finds them",
        who="newcomer",
    ),
    ListedPage(
        "own tokens",
        "/profile",
        "tokens",
        "API tokens",
        ["profile/Tokens"],
        "No tokens.",
        "listitem",
        long=True,
        search="Search tokens by name",
        words="beta",
        order="By name, from the end",
    ),
    ListedPage(
        "own applications",
        "/profile",
        "oauth/grants",
        "Connected applications",
        ["profile/Applications"],
        "No application was let in.",
        "listitem",
        search="Search applications",
        words="beta",
        order="Oldest first",
        long=True,
    ),
    ListedPage(
        "own browsers",
        "/profile",
        "sessions",
        "Signed-in browsers",
        ["profile/Browsers"],
        "Signed in nowhere.",
        "listitem",
        short=FEW,
        long=True,
    ),
    ListedPage(
        "own accounts",
        "/profile",
        "identities",
        "Accounts to sign in with",
        ["profile/SignInAccounts"],
        "No account is linked.",
        "listitem",
        long=True,
        paged=False,
        short="twenty at most",
        some=IDENTITIES,
    ),
    ListedPage(
        "jobs",
        "/jobs?of=all",
        "jobs",
        "Jobs",
        ["jobs/JobList"],
        "No jobs",
        head="Asked",
        short="filtered by whose they are, state and service; its texts are in no list",
    ),
    ListedPage(
        "schedules",
        "/jobs?view=schedules&of=all",
        "schedules",
        "Schedules",
        ["jobs/ScheduleList"],
        "No schedules",
        head="Made",
        short="filtered by whose they are, state and service; a person has a hundred at most",
        long=True,
    ),
    ListedPage(
        "tenants",
        "/tenants",
        "tenants",
        "Tenants",
        ["tenants/TenantsPage"],
        "No tenants",
        long=True,
        who="operator",
        search="Search by name or short name",
        words="umbrella",
        head="Short name",
    ),
    ListedPage(
        "identity providers",
        "/identity",
        "deployment/identity-providers",
        "Identity providers",
        ["identity/ProviderList"],
        "No identity providers",
        long=True,
        who="operator",
        search="Search by name, kind or address",
        words="beta",
        short="those of the file, then the stored ones; a handful",
    ),
    ListedPage(
        "keys",
        "/keys",
        "keys",
        "Keys",
        ["keys/KeysPage"],
        "",
        "listitem",
        long=True,
        who="operator",
        paged=False,
        short="one for each rotation",
    ),
)
WITHOUT_LIST: Mapping[str, str] = {
    "/documents": "read at /mcp by tools, not at the API; test_documents_page.py tries its states",
    "/senders": "one mail server and one webhook, each a form",
}
OF_NO_PAGE: Mapping[str, str] = {
    "documents/DocumentsPage": "as above",
    "start/guided/AccountStep": "a step of the guided start; the list of services is /tools",
    "start/guided/ServiceStep": "a step of the guided start; the list of services is /services",
    "tools/playground/Exchange": "what one call has sent",
}
"""Files that draw a list which is no page's."""
