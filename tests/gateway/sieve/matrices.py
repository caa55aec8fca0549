"""Random role matrices over a crowd of tools, and an oracle that is written otherwise than the sieve."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from core.caller import Caller, Credential
from core.permissions import Policy, build_role
from gateway.catalogue import Catalogue
from tests.support.toy_modules import names_of

TENANTS = (UUID(int=1), UUID(int=2))
NAME = re.compile(rb"[a-z]\d{2,4}q")

Rows = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Matrix:
    """What one user of one tenant was given: (effect, permission) rows by role, the services, a kind of token."""

    tenant: UUID
    roles: tuple[Rows, ...]
    services: frozenset[str]
    read_only: bool

    def caller(self) -> Caller:
        """Somebody with this matrix."""
        roles = tuple(build_role(f"role{n}", rows, -n) for n, rows in enumerate(self.roles))
        credential = Credential("id", "api_token", self.tenant, UUID(int=3), frozenset(), self.read_only)
        return Caller(credential, "a@b", "user", Policy(roles, self.services))


def random_matrix(catalogue: Catalogue, source: random.Random, services: frozenset[str]) -> Matrix:
    """Up to four roles of up to six rows, most of them allowing."""
    return Matrix(
        source.choice(TENANTS),
        tuple(_rows(catalogue, source) for _ in range(source.randrange(4))),
        services,
        source.random() < 0.25,
    )


def some_modules(catalogue: Catalogue, source: random.Random) -> frozenset[str]:
    """The services of a tenant: most of the modules."""
    return frozenset(module.name for module in catalogue.modules if source.random() < 0.8)


def permitted(catalogue: Catalogue, matrix: Matrix) -> set[tuple[str, str]]:
    """The oracle: row by row, as the design says it in words."""
    found: set[tuple[str, str]] = set()
    for module in matrix.services & catalogue.tools.keys():
        for one in catalogue.list_capabilities(module):
            reads = one.tool.hints.read_only
            if matrix.read_only and not reads:
                continue
            for rows in matrix.roles:
                touching = [effect for effect, text in rows if _touches(text, module, one.tool.name, reads)]
                if "allow" in touching and "deny" not in touching:
                    found.add((module, one.tool.name))
    return found


def speakable(catalogue: Catalogue, allowed: set[tuple[str, str]]) -> set[bytes]:
    """Every name that an answer to somebody who may use `allowed` may hold."""
    names: set[str] = set()
    for module, name in allowed:
        (one,) = [one for one in catalogue.list_capabilities(module) if one.tool.name == name]
        digits = name[1:]
        names |= {module, f"d{module[1:]}", f"x{digits}", f"y{digits}", f"r{digits}", *names_of(one)}
    return {name.encode() for name in names}


def spoken(answer: bytes) -> set[bytes]:
    """Every name of the crowd in an answer."""
    return set(NAME.findall(answer))


def _rows(catalogue: Catalogue, source: random.Random) -> Rows:
    return [
        (source.choices(("allow", "deny"), (3, 1))[0], _permission(catalogue, source))
        for _ in range(source.randrange(7))
    ]


def _permission(catalogue: Catalogue, source: random.Random) -> str:
    module = source.choice(catalogue.modules)
    tool = source.choice(catalogue.list_capabilities(module.name))
    forms = (f"{module.name}.{tool.name}", f"{module.name}.*", f"{module.name}:read", "*")
    return source.choices(forms, (6, 2, 2, 0.3))[0]


def _touches(text: str, module: str, tool: str, reads: bool) -> bool:
    return any(
        (
            text == "*",
            text.endswith(".*") and text[:-2] == module,
            text.endswith(":read") and text[:-5] == module and reads,
            text == f"{module}.{tool}",
        )
    )


def matrices(catalogue: Catalogue, seed: int, number: int) -> Iterator[Matrix]:
    """`number` random matrices over two tenants with services of their own."""
    source = random.Random(seed)
    services = {tenant: some_modules(catalogue, source) for tenant in TENANTS}
    for _ in range(number):
        made = random_matrix(catalogue, source, frozenset())
        yield Matrix(made.tenant, made.roles, services[made.tenant], made.read_only)
