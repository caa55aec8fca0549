"""Ask the OSV database for known vulnerabilities of every locked package, Python's and Node's.

    make check-vulnerabilities, or: python -m tools.audit [--required] [--database URL]

What was judged to be irrelevant stands in requirements/accepted-vulnerabilities.toml. Where the database cannot be
reached, this says that nothing was audited and ends well, unless with ``--required``. Exit codes: 0 nothing found (or
nothing asked), 1 something found, 2 this cannot be done as it is.
"""

import argparse
import datetime
import http.client
import json
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.locked import LOCKS, ROOT, read_locked

DATABASE = "https://api.osv.dev"
ACCEPTED = LOCKS / "accepted-vulnerabilities.toml"
NODE_LOCK = ROOT / "tests" / "node" / "package-lock.json"
AT_ONCE = 500
SECONDS = 20.0
MOST_BYTES = 32 * 1024 * 1024
JUDGED_FOR = datetime.timedelta(days=365)
"""Then a judgement has to be made again."""


class Unreachable(Exception):
    """The database cannot be asked."""


class Unusable(Exception):
    """The database does not understand the question, or the list of judgements is wrong."""


@dataclass(frozen=True, slots=True)
class Package:
    """One locked package. `ecosystem` is OSV's word; `where` is who gets it."""

    ecosystem: str
    name: str
    version: str
    where: str


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """A known vulnerability of a package, by its id and the other names that it has."""

    package: Package
    id: str
    aliases: frozenset[str]
    summary: str

    @property
    def names(self) -> frozenset[str]:
        """Every name that a judgement may give it."""
        return self.aliases | {self.id}


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why a vulnerability does not matter here, and when that was judged."""

    id: str
    package: str
    reason: str
    date: datetime.date

    def covers(self, finding: Vulnerability, today: datetime.date) -> bool:
        """Check whether the judgement is about that finding and not too old."""
        return self.id in finding.names and self.package == finding.package.name and today - self.date <= JUDGED_FOR


def packages() -> list[Package]:
    """All of requirements/*.txt, and of the Node packages that tests use."""
    product = {one.name for one in read_locked("runtime")}
    python = {one.name: one.version for name in ("runtime", "build", "dev") for one in read_locked(name)}
    found = [
        Package("PyPI", name, version, "the product" if name in product else "tests and tools")
        for name, version in sorted(python.items())
    ]
    return [*found, *sorted(node_packages(json.loads(NODE_LOCK.read_text("utf-8"))), key=lambda one: one.name)]


def node_packages(lock: dict[str, Any]) -> Iterator[Package]:
    """The packages of a package-lock.json (version 3), each version once."""
    seen: set[tuple[str, str]] = set()
    for path, entry in lock["packages"].items():
        name = entry.get("name") or path.rpartition("node_modules/")[2]
        if path and (name, entry["version"]) not in seen:
            seen.add((name, entry["version"]))
            yield Package("npm", name, entry["version"], "tests and tools")


def judgements(path: Path, today: datetime.date) -> list[Judgement]:
    """Read the accepted findings.

    Raises:
        Unusable: it cannot be read, or an entry has no reason, or no date in the past.
    """
    try:
        entries = tomllib.loads(path.read_text("utf-8")).get("accepted", [])
    except (OSError, ValueError):
        raise Unusable(f"{path.name} cannot be read") from None
    found: list[Judgement] = []
    for entry in entries:
        try:
            one = Judgement(**entry)
        except TypeError as error:
            raise Unusable(f"{path.name}: {error}") from None
        if not isinstance(one.date, datetime.date) or one.date > today or len(one.reason) < 20:
            raise Unusable(f"{path.name}: {one.id} needs a reason and the date of its judgement")
        found.append(one)
    return found


def findings(asked: Sequence[Package], database: str) -> list[Vulnerability]:
    """Fetch the known vulnerabilities that were not withdrawn.

    Raises:
        Unreachable, Unusable: as named.
    """
    found: list[Vulnerability] = []
    for package, vulnerability in _fetch_ids(asked, database):
        told = _answer(f"{database}/v1/vulns/{vulnerability}")
        if "withdrawn" not in told:
            summary = str(told.get("summary") or told.get("details", ""))[:200].partition("\n")[0]
            found.append(Vulnerability(package, vulnerability, frozenset(told.get("aliases", [])), summary))
    return found


def _fetch_ids(asked: Sequence[Package], database: str) -> Iterator[tuple[Package, str]]:
    """The ids of what each package is known for (OSV's `querybatch`, page after page)."""
    waiting: list[tuple[Package, str]] = [(one, "") for one in asked]
    while waiting:
        part, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        results = _answer(f"{database}/v1/querybatch", {"queries": [_query(*one) for one in part]}).get("results")
        if not isinstance(results, list) or len(results) != len(part):
            raise Unusable("the database has not answered every question")
        for (package, _), result in zip(part, results, strict=True):
            yield from ((package, one["id"]) for one in result.get("vulns", []))
            if page := result.get("next_page_token"):
                waiting.append((package, page))


def _query(package: Package, page: str) -> dict[str, Any]:
    query = {"package": {"ecosystem": package.ecosystem, "name": package.name}, "version": package.version}
    return {**query, "page_token": page} if page else query


def _answer(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310 a constant, or the caller's
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 as above
            told: Any = json.loads(response.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 400:
            raise Unusable(f"the database does not understand the question ({url})") from None
        raise Unreachable(f"HTTP {error.code}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unreachable(type(getattr(error, "reason", None) or error).__name__) from None
    if not isinstance(told, dict):
        raise Unreachable("no answer of OSV's")
    return told


def report(found: Sequence[Vulnerability], judged: Sequence[Judgement], today: datetime.date) -> Iterator[str]:
    """One line for each finding that counts."""
    for one in found:
        if not any(judgement.covers(one, today) for judgement in judged):
            names = ", ".join([one.id, *sorted(one.aliases - {one.id})])
            yield f"{one.package.name} {one.package.version} (in {one.package.where}): {names}: {one.summary}"


def audit(asked: Sequence[Package], database: str, accepted: Path, *, required: bool, today: datetime.date) -> int:
    """Ask, and say on standard error what there is to say; the exit code."""
    try:
        judged = judgements(accepted, today)
        found = findings(asked, database)
    except Unusable as error:
        return _print_line(f"{error}", 2)
    except Unreachable as error:
        told = f"NOTHING WAS AUDITED: the database of vulnerabilities cannot be reached ({error})"
        return _print_line(told, 1 if required else 0)
    for unused in [one for one in judged if not any(one.covers(finding, today) for finding in found)]:
        _print_line(
            f"{unused.id} of {unused.package} is not found any more, or was judged too long ago; see {accepted.name}", 0
        )
    lines = list(report(found, judged, today))
    for line in lines:
        _print_line(line, 1)
    return _print_line(f"{len(asked)} locked packages audited, {len(lines)} known vulnerabilities", 1 if lines else 0)


def _print_line(text: str, code: int) -> int:
    print(f"mcpist: {text}", file=sys.stderr)
    return code


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.audit")
    parser.add_argument("--required", action="store_true", help="fail where the database cannot be reached")
    parser.add_argument("--database", default=DATABASE, help="another address of an OSV database")
    given = parser.parse_args()
    today = datetime.datetime.now(datetime.UTC).date()
    return audit(packages(), given.database, ACCEPTED, required=given.required, today=today)


if __name__ == "__main__":
    sys.exit(main())
