"""Short ways to write what the tools take."""

from typing import Any


def entity(name: str, *observations: str, kind: str = "person") -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(source: str, kind: str, to: str) -> dict[str, str]:
    return {"from": source, "to": to, "relationType": kind}
