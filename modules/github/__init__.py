"""GitHub, through its REST API: api.github.com or a GitHub Enterprise Server."""

from modules.github import (
    actions,
    activity,
    branches,
    checks,
    commits,
    diffs,
    error_messages,
    files,
    issue_comments,
    issues,
    labels,
    milestones,
    pull_request_changes,
    pull_requests,
    pushes,
    releases,
    repositories,
    rest_client,
    reviews,
    search,
    sub_issues,
    workflows,
)
from modules.kit import AccountRequest, Module, ParameterSample, VendorApi

TOOLS = (
    *repositories.TOOLS,
    *commits.TOOLS,
    *branches.TOOLS,
    *files.TOOLS,
    *pushes.TOOLS,
    *issues.TOOLS,
    *issue_comments.TOOLS,
    *labels.TOOLS,
    *milestones.TOOLS,
    *sub_issues.TOOLS,
    *pull_requests.TOOLS,
    *pull_request_changes.TOOLS,
    *reviews.TOOLS,
    *diffs.TOOLS,
    *checks.TOOLS,
    *search.TOOLS,
    *actions.TOOLS,
    *workflows.TOOLS,
    *releases.TOOLS,
    *activity.TOOLS,
)

MODULE = Module(
    name="github",
    title="GitHub",
    description="GitHub repositories, issues, pull requests, code search, actions and releases.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=TOOLS,
    vendor=VendorApi(
        base_url="https://api.github.com",
        account=AccountRequest("/user", name="/login"),
        headers=rest_client.HEADERS,
        settings=rest_client.GitHubSettings,
        rate_limit=error_messages.read_rate_limit,
    ),
    samples={
        "owner": ParameterSample("octocat", "list_repositories", "/repositories/0/full_name", part=0),
        "repo": ParameterSample("hello-world", "list_repositories", "/repositories/0/full_name", part=1),
        "ref": ParameterSample("main", "list_branches", "/branches/0/sha"),
        "issue_number": ParameterSample(1347, "list_issues", "/issues/0/number", arguments={"state": "all"}),
        "pull_number": ParameterSample(
            1347, "list_pull_requests", "/pull_requests/0/number", arguments={"state": "all"}
        ),
        "q": ParameterSample("login is:open user:octocat", "get_me", "/login"),
    },
)
