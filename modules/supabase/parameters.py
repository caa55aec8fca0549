"""Parameters that several of Supabase's tools share, and the scopes of its OAuth apps
(https://supabase.com/docs/guides/platform/oauth-apps/oauth-scopes)."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from modules.kit.parameters import limit_length

READ_ORGANIZATIONS = "organizations:read"
READ_PROJECTS = "projects:read"
WRITE_PROJECTS = "projects:write"
READ_DATABASE = "database:read"
WRITE_DATABASE = "database:write"
READ_ANALYTICS = "analytics:read"
READ_SECRETS = "secrets:read"
READ_FUNCTIONS = "edge_functions:read"
WRITE_FUNCTIONS = "edge_functions:write"
READ_ENVIRONMENT = "environment:read"
WRITE_ENVIRONMENT = "environment:write"
READ_STORAGE = "storage:read"
WRITE_STORAGE = "storage:write"

_REF = re.compile(r"[a-z]{20}")
_REF_ADDRESS = re.compile(
    r"https://(?:supabase\.com/dashboard/project/([a-z]{20})(?:[/?#]\S*)?|([a-z]{20})\.supabase\.co(?:[/?#]\S*)?)"
)
_BRANCH_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_ORGANIZATION = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
_SOURCE_PATH = re.compile(r"[^/\\\x00-\x1f\x7f\"]+(?:/[^/\\\x00-\x1f\x7f\"]+)*")
_VERSION = re.compile(r"[0-9]{1,20}")
_SCHEMA = re.compile(r"[^\x00-\x1f\x7f,]{1,63}")


def _check_ref(text: str) -> str:
    plain = text.strip()
    if address := _REF_ADDRESS.fullmatch(plain):
        return address[1] or address[2]
    if not _REF.fullmatch(plain):
        raise ValueError(
            "is no project ref: 20 lower-case letters, as in the list of projects, or the project's address"
        )
    return plain


def _check_branch(text: str) -> str:
    plain = text.strip()
    if not _REF.fullmatch(plain) and not _BRANCH_ID.fullmatch(plain):
        raise ValueError(
            "is no branch: give its project_ref (20 lower-case letters) or its id, as in the list of branches"
        )
    return plain


def _check_organization(text: str) -> str:
    if not _ORGANIZATION.fullmatch(text):
        raise ValueError("is no organization's slug: letters, digits, - and _, as in the list of organizations")
    return text


def _check_function(text: str) -> str:
    if not _FUNCTION.fullmatch(text):
        raise ValueError("is no function's slug: it begins with a letter; letters, digits, - and _ follow")
    return text


def _check_version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise ValueError("is no migration's version: digits, as in the list of migrations")
    return text


def check_source_path(text: str) -> str:
    """Check that a path stays inside the function's folder, and has nothing that a file name should not.

    Raises:
        ValueError: it does not.
    """
    if not _SOURCE_PATH.fullmatch(text) or not {".", ".."}.isdisjoint(text.split("/")):
        raise ValueError("is no path inside the function: such as index.ts or lib/a.ts, without .. and a slash before")
    return text


def _check_schema(text: str) -> str:
    if not _SCHEMA.fullmatch(text):
        raise ValueError("is no schema's name: 1 to 63 characters, no comma and no control character")
    return text


ProjectRef = Annotated[str, limit_length(maximum=200), AfterValidator(_check_ref), Field(description="Project")]
BranchRef = Annotated[
    str, limit_length(maximum=200), AfterValidator(_check_branch), Field(description="Branch's project_ref or id")
]
OrganizationSlug = Annotated[
    str, limit_length(maximum=200), AfterValidator(_check_organization), Field(description="Organization")
]
FunctionSlug = Annotated[str, limit_length(maximum=200), AfterValidator(_check_function), Field(description="Slug")]
MigrationVersion = Annotated[
    str, limit_length(maximum=200), AfterValidator(_check_version), Field(description="Version")
]
SchemaName = Annotated[str, limit_length(maximum=63), AfterValidator(_check_schema)]
SchemaNames = Annotated[list[SchemaName], limit_length(1, 20)]
SqlText = Annotated[str, limit_length(1, 100_000)]
