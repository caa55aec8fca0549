"""Results of recorded sizes: three rows of each tool's answer as the modules give it (recorded.json), grown to what
such answers have in large accounts: 50 to 150 KB."""

import random
import re
from pathlib import Path
from typing import Any

import orjson

_HEX = re.compile(r"[0-9a-f]{12,}|[A-Za-z0-9+/]{40,}")
_DIGITS = re.compile(r"\d+")
_SENTENCES = (
    "Every team writes down what it has decided, with the date and the people who were there.",
    "2026-05-14T09:26:53.123Z ERROR [worker-7] id=1f3870be-274f-46c4-9f0a-6f0b3d1b5a7e status=502 GET /v1/items",
    "議事録をまとめて、担当者と期限を書いてください。",
    "+    return build_result(orjson.dumps(value), short=request.short_text)",
    "| ABC-1234 | in progress | 2026-05-01 | https://acme.atlassian.net/browse/ABC-1234 |",
)
_TEXTS = {"github.get_diff": "text", "github.get_job_logs": "text", "notion.get_page_markdown": "markdown",
          "supabase.generate_typescript_types": "types"}  # fmt: skip


def _vary(value: Any, source: random.Random) -> Any:
    """The same shape with other ids, numbers and longer texts."""
    if isinstance(value, dict):
        return {name: _vary(one, source) for name, one in value.items()}
    if isinstance(value, list):
        return [_vary(one, source) for one in value]
    if not isinstance(value, str):
        return source.randrange(1_000_000) if type(value) is int else value
    text = _HEX.sub(lambda found: "".join(source.choices("0123456789abcdef", k=len(found[0]))), value)
    text = _DIGITS.sub(lambda found: "".join(source.choices("0123456789", k=len(found[0]))), text)
    return text + " ".join(source.choices(_SENTENCES, k=source.randrange(8))) if " " in text else text


def _grow(name: str, recorded: dict[str, Any]) -> dict[str, Any]:
    source = random.Random(name)
    size = source.randrange(50_000, 150_000)
    grown = dict(recorded)
    if field := _TEXTS.get(name):
        lines = (_vary(source.choice(_SENTENCES), source) for _ in range(size // 120))
        return {**grown, field: "\n".join(lines)}
    field = max((one for one in recorded if isinstance(recorded[one], list)), key=lambda one: len(str(recorded[one])))
    rows: list[Any] = []
    while size > 0:
        rows.append(_vary(source.choice(recorded[field]), source))
        size -= len(orjson.dumps(rows[-1]))
    return {**grown, field: rows}


def plant(payload: Any, fact: str, source: random.Random) -> str:
    """Put a fact into a text of the payload, behind its middle; return the path of that text."""
    node, path = payload, ""
    while True:
        if isinstance(node, dict):
            name = max(node, key=lambda one: len(str(node[one])))
            place: Any = name
            path += f".{name}" if name.isidentifier() else f"[{orjson.dumps(name).decode()}]"
        else:
            place = source.randrange(len(node) // 2, len(node))
            path += f"[{place}]"
        child = node[place]
        if isinstance(child, dict | list) and child:
            node = child
            continue
        at = len(child) * 3 // 4 if isinstance(child, str) else 0
        node[place] = f"{child[:at]}\n{fact}\n{child[at:]}" if isinstance(child, str) else fact
        return path.removeprefix(".")


PAYLOADS: dict[str, dict[str, Any]] = {
    name: _grow(name, recorded)
    for name, recorded in orjson.loads(Path(__file__).with_name("recorded.json").read_bytes()).items()
}
