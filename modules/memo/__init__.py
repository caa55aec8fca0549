"""Memos that are found by their meaning, and of which no raw text is kept; each user has their own."""

from modules.kit import Icon, Module, ParameterSample
from modules.memo.settings import MemoSettings
from modules.memo.tools import READ, TOOLS, WRITE

MODULE = Module(
    name="memo",
    title="Memos",
    description="Your own memos, found by their meaning. The text of a memo is not kept.",
    scopes=frozenset({READ, WRITE}),
    tools=TOOLS,
    icon=Icon("#b45309", "M6 3h9l4 4v14H6ZM14 3v5h5M9 12h7M9 16h5"),
    settings=MemoSettings,
    has_plain_names=True,
    samples={
        "query": ParameterSample("how we release"),
        "memo_id": ParameterSample("4f6c0d2e9b7a4d3c8e1f5a6b7c8d9e0f", "query_memo", "/results/0/metadata/memo_id"),
    },
)
