"""Short ids of tasks: what a task's id has in common with that of its list stands as places in it.

    ~0,42.BG.44,70.c.71,107.73,95.AFRKq7AAAA

An id of Graph's has 150 characters, of which all but some ten name the mailbox and the folder. Every tool that takes a
task takes its list too, so a short id needs no request and no memory to be made whole. A whole id is taken as well.
"""

import re

from modules.kit import ToolError, build_path

_LEAST = 8
"""Characters in common that are worth two numbers."""
_LONGEST = 500
_PLACES = re.compile(r"([0-9]{1,3}),([0-9]{1,3})", re.ASCII)
_SIGN = re.compile("[~,.]")


def shorten_task_id(task_id: str, list_id: str) -> str:
    """Shorten the id of a task in a list; one that would not become shorter stays."""
    if not task_id or len(task_id) > _LONGEST or not (task_id + list_id).isascii() or _SIGN.search(task_id):
        return task_id
    parts: list[str] = []
    place = literal = 0
    while place < len(task_id):
        start = list_id.find(task_id[place : place + _LEAST])
        end = start + _count_common(task_id[place:], list_id[start:]) if start >= 0 else start
        if end - start < _LEAST:
            place += 1
            continue
        if literal < place:
            parts.append(task_id[literal:place])
        parts.append(f"{start},{end}")
        place += end - start
        literal = place
    short = "~" + ".".join([*parts, *([task_id[literal:]] if literal < len(task_id) else [])])
    return short if len(short) < len(task_id) else task_id


def _count_common(one: str, other: str) -> int:
    """Count the characters that two texts of ASCII have in common at their beginning."""
    size = min(len(one), len(other))
    # As numbers: a look at each character takes ten times as long.
    difference = int.from_bytes(one[:size].encode()) ^ int.from_bytes(other[:size].encode())
    return size - (difference.bit_length() + 7) // 8


def expand_task_id(task_id: str, list_id: str) -> str:
    """Expand a short id; a whole one stays.

    Raises:
        ToolError: it is not one of this list.
    """
    if not task_id.startswith("~"):
        return task_id
    parts: list[str] = []
    for part in task_id[1:].split("."):
        places = _PLACES.fullmatch(part)
        start, end = (int(places[1]), int(places[2])) if places else (0, 0)
        if (places and not start < end <= len(list_id)) or (not places and "," in part) or not part:
            raise ToolError(
                f"task_id {task_id[:60]} is none of this list's: give it with the list_id that it was read with"
            )
        parts.append(list_id[start:end] if places else part)
    return "".join(parts)[:_LONGEST]


def build_task_path(template: str, list_id: str, task_id: str, *more: str) -> str:
    """Build the path of a task, whose id may be short, or of something in it.

    Raises:
        ToolError: see :func:`expand_task_id`.
    """
    return build_path(template, list_id, expand_task_id(task_id, list_id), *more)
