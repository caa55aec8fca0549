"""Links between issues."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from modules.jira import rest_client
from modules.jira.field_values import get_mapping, list_mappings
from modules.jira.parameters import READ_WORK, WRITE_WORK, IssueKey
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, OptionalParameter, limit_length
from modules.kit.results import Line, ResultModel
from modules.kit.text_cleaning import clean_line

Relation = Annotated[str, limit_length(1, 100)]
Other = Annotated[IssueKey, Field(description="The other issue")]


class LinkedIssues(ResultModel):
    link: Line


class UnlinkedIssues(ResultModel):
    """The link that is gone."""

    unlinked: Line


@tool(hints=ADD_HINTS, scopes=[WRITE_WORK, READ_WORK])
async def link_issues(
    context: Context,
    issue: IssueKey,
    relation: Annotated[Relation, Field(description="Such as blocks, is blocked by, relates to")],
    other: Other,
) -> LinkedIssues:
    """Link two issues: issue, relation, other, read as a sentence."""
    raw, _ = await rest_client.fetch_object(context, "/rest/api/3/issueLinkType")
    types = [one for one in list_mappings(raw.get("issueLinkTypes")) if one.get("id")]
    kind, is_inward, phrase = _find_relation(types, relation)
    # The issue that a link begins at is Jira's inwardIssue: it "blocks", the outwardIssue "is blocked by" it.
    first, second = (other, issue) if is_inward else (issue, other)
    body = {"type": {"id": kind}, "inwardIssue": _name(first), "outwardIssue": _name(second)}
    await rest_client.send_change(context, "POST", "/rest/api/3/issueLink", json=body)
    return LinkedIssues(link=f"{issue} {phrase} {other}")


def _name(issue: str) -> dict[str, str]:
    return {"id": issue} if issue.isdigit() else {"key": issue}


def _find_relation(types: Sequence[Mapping[str, Any]], relation: str) -> tuple[str, bool, str]:
    wanted = relation.strip().casefold()
    for name in ("outward", "inward", "name"):
        for one in types:
            if str(one.get(name, "")).casefold() == wanted:
                phrase = one.get("inward" if name == "inward" else "outward")
                return str(one["id"]), name == "inward", clean_line(str(phrase))
    known = [clean_line(str(one[name])) for one in types for name in ("outward", "inward") if one.get(name)]
    raise ToolError(f"relation is not known here; use one of: {', '.join(dict.fromkeys(known))[:1000]}")


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK, READ_WORK])
async def unlink_issues(
    context: Context,
    issue: IssueKey,
    other: Other,
    relation: Annotated[OptionalParameter[Relation], Field(description="Where there are several")] = None,
) -> UnlinkedIssues:
    """Remove the link between two issues."""
    address = build_path("/rest/api/3/issue/{}", issue)
    raw, _ = await rest_client.fetch_object(context, address, query={"fields": "issuelinks"})
    links = [one for one in list_mappings(get_mapping(raw.get("fields")).get("issuelinks")) if one.get("id")]
    found = [(one, phrase) for one in links if (phrase := _find_phrase(one, other))]
    wanted = (relation or "").strip().casefold()
    fitting = [(one, phrase) for one, phrase in found if wanted in ("", phrase.casefold())]
    if not fitting:
        known = ", ".join(dict.fromkeys(phrase for _, phrase in found))
        hint = f"; it has: {known[:500]}" if known else ""
        raise ToolError(f"the issue has no such link to the other one{hint}")
    if len(fitting) > 1:
        raise ToolError(f"relation: there are several links, give one of: {', '.join(one for _, one in fitting)[:500]}")
    [(link, phrase)] = fitting
    await rest_client.send_change(context, "DELETE", build_path("/rest/api/3/issueLink/{}", str(link["id"])))
    return UnlinkedIssues(unlinked=f"{issue} {phrase} {other}")


def _find_phrase(link: Mapping[str, Any], other: str) -> str:
    """Find how a link of an issue to `other` reads; "" where it leads elsewhere. Jira shows the other issue only: as
    the outward one where this one comes first."""
    for side in ("outward", "inward"):
        there = get_mapping(link.get(f"{side}Issue"))
        if other in (there.get("key"), there.get("id")):
            kind = get_mapping(link.get("type"))
            return clean_line(str(kind.get(side) or kind.get("name") or "linked to"))
    return ""


TOOLS = (link_issues, unlink_issues)
