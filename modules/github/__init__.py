"""GitHub, through its REST API: api.github.com or a GitHub Enterprise Server."""

from modules.github import (
    actions,
    activity,
    branches,
    checks,
    commits,
    diffs,
    files,
    issue_comments,
    issues,
    job_logs,
    labels,
    milestones,
    pull_request_changes,
    pull_requests,
    pushes,
    release_assets,
    releases,
    repositories,
    review_changes,
    review_threads,
    reviews,
    search,
    sub_issues,
    workflows,
)
from modules.github.shared import error_messages, rest_client
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
    *review_changes.TOOLS,
    *review_threads.TOOLS,
    *diffs.TOOLS,
    *checks.TOOLS,
    *search.TOOLS,
    *actions.TOOLS,
    *workflows.TOOLS,
    *job_logs.TOOLS,
    *releases.TOOLS,
    *release_assets.TOOLS,
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
        hosts=rest_client.HOSTS,
        rate_limit=error_messages.read_rate_limit,
    ),
    samples={
        "owner": ParameterSample("octocat", "list_repositories", "/repositories/0/full_name", part=0),
        "repo": ParameterSample("hello-world", "list_repositories", "/repositories/0/full_name", part=1),
        "ref": ParameterSample("main", "list_branches", "/branches/0/sha"),
        "get_diff.ref": ParameterSample("main", "list_branches", "/branches/0/sha"),
        "issue_number": ParameterSample(
            1347, "list_issues", "/issues/0/number", arguments={"state": "all", "sort": "comments"}
        ),
        "pull_number": ParameterSample(
            1347, "list_pull_requests", "/pull_requests/0/number", arguments={"state": "all"}
        ),
        "comment_id": ParameterSample(1, "get_issue", "/comments/0/id", arguments={"comments": True}),
        "review_id": ParameterSample(80),
        "run_id": ParameterSample(
            30433642, "list_workflow_runs", "/workflow_runs/0/id", arguments={"status": "success"}
        ),
        "job_id": ParameterSample(399444496, "list_workflow_jobs", "/jobs/0/id"),
        "asset_id": ParameterSample(1, "list_release_assets", "/assets/0/id"),
        "release_id": ParameterSample(1, "list_releases", "/releases/0/id"),
        "milestone_number": ParameterSample(1, "list_milestones", "/milestones/0/number", arguments={"state": "all"}),
        "workflow": ParameterSample("ci.yml"),
        "tag_name": ParameterSample("v1.0.0"),
        "q": ParameterSample("login is:open user:octocat", "get_me", "/login"),
    },
)
