"""What an account of Supabase's holds, in the form in which the Management API answers."""

import base64
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.support.vendor_double import VendorRefusal

Json = dict[str, Any]

MOMENT = "2026-01-01T00:00:00Z"
MILLISECONDS = 1_767_225_600_000
REF = "abcdefghijklmnopqrst"
FEATURES: Json = {
    "imageTransformation": {"enabled": True},
    "s3Protocol": {"enabled": False},
    "icebergCatalog": {"enabled": False, "maxNamespaces": 0, "maxTables": 0, "maxCatalogs": 0},
    "vectorBuckets": {"enabled": False, "maxBuckets": 0, "maxIndexes": 0},
}


class Refused(VendorRefusal):
    """A refusal in Supabase's form."""

    def __init__(self, status: int, message: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, {"message": message}, headers)


def legacy_key(role: str) -> str:
    """A key of the old kind: a JSON Web Token whose role says what it may."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"iss": "supabase", "ref": REF, "role": role})
    coded = [base64.urlsafe_b64encode(orjson.dumps(part)).decode().rstrip("=") for part in parts]
    return ".".join([*coded, "c2lnbmF0dXJl"])


@dataclass
class World:
    """What one account has. Objects are kept as they are answered; `scopes` are those of each token, and `strangers`
    the tokens of other accounts, which see nothing of it."""

    scopes: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    strangers: set[str] = field(default_factory=set[str])
    organizations: dict[str, Json] = field(default_factory=dict[str, Json])
    projects: dict[str, Json] = field(default_factory=dict[str, Json])
    passwords: dict[str, str] = field(default_factory=dict[str, str])
    keys: list[Json] = field(default_factory=list[Json])
    migrations: dict[str, Json] = field(default_factory=dict[str, Json])
    functions: dict[str, Json] = field(default_factory=dict[str, Json])
    sources: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])
    branches: dict[str, Json] = field(default_factory=dict[str, Json])
    branching: bool = True
    buckets: list[Json] = field(default_factory=list[Json])
    config: Json = field(default_factory=dict[str, Any])
    lints: list[Json] = field(default_factory=list[Json])
    logs: list[Json] = field(default_factory=list[Json])
    types: str = "export type Json = string"
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def organization(self, slug: str, plan: str = "pro") -> Json:
        """A new organization."""
        made = {"id": slug, "slug": slug, "name": slug.title(), "plan": plan}
        self.organizations[slug] = made
        return made

    def project(self, name: str, organization: str, *, ref: str | None = None, region: str = "eu-central-1") -> Json:
        """A new project that runs."""
        ref = ref or self.make_ref()
        made = {
            "id": ref, "ref": ref, "organization_id": organization, "organization_slug": organization, "name": name,
            "region": region, "created_at": MOMENT, "status": "ACTIVE_HEALTHY",
            "database": {
                "host": f"db.{ref}.supabase.co", "version": "17.4.1.068", "postgres_engine": "17",
                "release_channel": "ga",
            },
        }  # fmt: skip
        self.projects[ref] = made
        return made

    def function(self, slug: str, files: Mapping[str, bytes], entrypoint: str) -> Json:
        """A new or newer edge function."""
        version = self.functions.get(slug, {"version": 0})["version"] + 1
        made = {
            "id": f"f-{slug}", "slug": slug, "name": slug, "status": "ACTIVE", "version": version,
            "created_at": MILLISECONDS, "updated_at": MILLISECONDS + version, "verify_jwt": True, "import_map": False,
            "entrypoint_path": f"file:///tmp/user_fn_{REF}_{slug}_{version}/{entrypoint}",
            "ezbr_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        }  # fmt: skip
        self.functions[slug] = made
        self.sources[slug] = dict(files)
        return made

    def branch(self, parent: str, name: str, **known: Any) -> Json:
        """A new branch with a project of its own."""
        number = next(self.numbers)
        ref = self.project(f"{name} ({parent})", self.projects[parent]["organization_slug"])["ref"]
        made = {
            "id": f"00000000-0000-4000-8000-{number:012x}", "name": name, "project_ref": ref,
            "parent_project_ref": parent, "is_default": False, "persistent": False, "with_data": False,
            "status": "CREATING_PROJECT", "preview_project_status": "COMING_UP", "created_at": MOMENT,
            "updated_at": MOMENT, "latest_check_run_id": number, "review_requested_at": MOMENT, **known,
        }  # fmt: skip
        self.branches[made["id"]] = made
        return made

    def lint(self, name: str, detail: str, category: str = "SECURITY") -> None:
        """A new finding of an advisor's."""
        self.lints.append({
            "name": name, "title": name.replace("_", " ").title(), "level": "ERROR", "facing": "EXTERNAL",
            "categories": [category], "description": "What this is about, at length. " * 5, "detail": detail,
            "remediation": f"https://supabase.com/docs/guides/database/database-linter?lint={name}",
            "metadata": {"name": "t", "type": "table", "schema": "public"}, "cache_key": f"{name}_{detail}",
        })  # fmt: skip

    def make_ref(self) -> str:
        """A ref that no project has."""
        number = next(self.numbers)
        return "".join(chr(97 + number // 26**place % 26) for place in range(4)) + "zzzzyyyyxxxxwwww"
