"""Names that are not in the graph: the error that says so, with those that could be meant."""

import difflib
from collections.abc import Iterable, Sequence

from modules.kit import Store, ToolError
from modules.knowledge_graph.search_text import SEPARATOR, build_needles

MAX_NAMED = 5
MAX_SUGGESTED = 3
MAX_COMPARED = 64
"""Characters of a name that are compared by similarity: difflib takes quadratic time, and normalisation can make
3,600 characters of a name."""

# Best first: the same but for case and width, then those that share a beginning.
SIMILAR_NAMES = """
SELECT name FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2
    AND (left(folded, 2) = left($3, 2) OR strpos(folded, $3) > 0 OR strpos($3, split_part(folded, $4, 1)) > 0)
ORDER BY split_part(folded, $4, 1) = $3 DESC, left(folded, 4) = left($3, 4) DESC, name LIMIT 50
"""


async def build_unknown_entities_error(store: Store, names: Sequence[str]) -> ToolError:
    """Build the error for `names`, none of which is an entity."""
    listed = [await _add_suggestions(store, name) for name in names[:MAX_NAMED]]
    omitted = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ToolError(
        f"Nothing was written. No such entities: {', '.join(listed)}{omitted}. "
        "Create them first, or use the exact names."
    )


async def _add_suggestions(store: Store, name: str) -> str:
    light, _ = build_needles(name)
    rows = await store.fetch(SIMILAR_NAMES, light, SEPARATOR)
    if similar := _find_nearest(light, [row["name"] for row in rows]):
        return f"{_quote_names([name])} (near: {_quote_names(similar)})"
    return _quote_names([name])


def _find_nearest(light: str, candidates: Sequence[str]) -> list[str]:
    forms = [(build_needles(candidate)[0], candidate) for candidate in candidates]
    by_beginning = {form[:MAX_COMPARED]: candidate for form, candidate in reversed(forms)}
    close = difflib.get_close_matches(light[:MAX_COMPARED], by_beginning, n=MAX_SUGGESTED, cutoff=0.5)
    contained = [candidate for form, candidate in forms if form in light or light in form]
    return list(dict.fromkeys([*(by_beginning[form] for form in close), *contained]))[:MAX_SUGGESTED]


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"\u201c{name}\u201d" for name in names)
