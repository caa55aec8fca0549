"""A call of every tool that is as it should be."""

from typing import Any

from modules.supabase.prices import BRANCH_PRICE
from tests.support.supabase_double.world import REF

BRANCH = "bcdefghijklmnopqrstu"
PROJECT: dict[str, Any] = {"ref": REF}
READS: dict[str, dict[str, Any]] = {
    "list_organizations": {},
    "get_organization": {"slug": "acme"},
    "list_projects": {"organization": "acme"},
    "get_project": PROJECT,
    "get_project_health": PROJECT,
    "get_project_url": PROJECT,
    "get_publishable_keys": PROJECT,
    "generate_typescript_types": PROJECT,
    "list_tables": PROJECT,
    "list_extensions": PROJECT,
    "list_migrations": PROJECT,
    "get_migration": {**PROJECT, "version": "1"},
    "execute_sql": {**PROJECT, "query": "select 1"},
    "get_logs": {**PROJECT, "service": "api"},
    "get_advisors": {**PROJECT, "type": "security"},
    "list_edge_functions": PROJECT,
    "get_edge_function": {**PROJECT, "slug": "hello"},
    "list_branches": PROJECT,
    "list_storage_buckets": PROJECT,
    "get_storage_config": PROJECT,
}
WRITES: dict[str, dict[str, Any]] = {
    "create_project": {"name": "x", "organization": "free", "region": "emea", "confirm_cost": "0 USD per month"},
    "pause_project": PROJECT,
    "restore_project": PROJECT,
    "execute_sql_write": {**PROJECT, "query": "select 1"},
    "apply_migration": {**PROJECT, "name": "x", "query": "select 1"},
    "deploy_edge_function": {**PROJECT, "slug": "hello", "files": [{"path": "index.ts", "content": "x"}]},
    "delete_edge_function": {**PROJECT, "slug": "hello"},
    "create_branch": {**PROJECT, "name": "x", "confirm_cost": BRANCH_PRICE.text},
    "delete_branch": {"branch": BRANCH},
    "merge_branch": {"branch": BRANCH},
    "reset_branch": {"branch": BRANCH},
    "rebase_branch": {"branch": BRANCH},
    "update_storage_config": {**PROJECT, "s3_protocol": True},
}
REQUESTS_BEFORE = {"create_project": 1}
"""Requests that read before the one that changes, where not 0."""
