"""Toggl Track, through its API version 9 and its Reports API version 3 at api.track.toggl.com."""

from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.toggl import projects, time_entries, timers
from modules.toggl.error_messages import read_rate_limit, rejects_token
from modules.toggl.parameters import READ, WRITE

TOOLS = (*projects.TOOLS, *time_entries.TOOLS, *timers.TOOLS)

MODULE = Module(
    name="toggl",
    title="Toggl Track",
    description="Toggl Track: your time entries and projects; start and stop a timer.",
    scopes=frozenset({READ, WRITE}),
    tools=TOOLS,
    icon=Icon("#c2378f", "M12 4a8 8 0 1 0 .01 0ZM12 8v4.5l3 2M10 2h4"),
    vendor=VendorApi(
        base_url="https://api.track.toggl.com",
        account=AccountRequest("/api/v9/me", name="/email", rejection_statuses=(401, 403)),
        rate_limit=read_rate_limit,
        rejects_credential=rejects_token,
    ),
    samples={
        "workspace_id": ParameterSample(7042, "list_workspaces", "/workspaces/0/id"),
        "project_id": ParameterSample(190311, "list_projects", "/projects/0/id"),
        "description": ParameterSample("Write the report"),
    },
)
