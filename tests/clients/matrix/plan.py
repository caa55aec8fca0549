"""What every client of the matrix is asked to do, and what has to come of it."""

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.clients.story import META_TOOLS

CHECKS: tuple[str, ...] = ("list", "schema", "call", "batch", "error", "hidden", "resource", "prompt", "task")
VIEWS = ("meta", "plain", "plain path")
META = "meta"
TOKEN, OAUTH = "token", "OAuth"

YES, NO, UNSUPPORTED, UNTRIED, ABSENT = "yes", "**no**", "not supported", "not tried", "–"
"""What a cell says; ABSENT is for what this view does not have."""

HIDDEN, MADE_UP = "image_content", "made_up_tool"
GREETING = "Hello, Ada!"
FAILURE = "This tool intentionally returns an error for testing"
COMPUTED = "computed Ada"
RESOURCE, RESOURCE_NAME, RESOURCE_TEXT = "test://static-text", "test_static_text", "content of the static text resource"
PROMPT, PROMPT_ARGUMENTS, PROMPT_TEXT = "test_prompt_with_arguments", {"arg1": "one", "arg2": "two"}, "arg1='one'"

_OF_A_CALL = re.compile(r"lc_[0-9a-f-]{36}|call_\d+|Wall time: [\d.]+")
"""What clients add that differs from call to call."""

Check = tuple[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of one check in one view; `why` is for what is not `yes`."""

    result: str
    why: str = ""


def url_of(mcp_url: str, view: str) -> str:
    """The URL that shows this view."""
    return {META: mcp_url, "plain": f"{mcp_url}?view=plain&modules=test", "plain path": f"{mcp_url}/plain/test"}[view]


def planned(view: str) -> list[Check]:
    """The checks of a view with what a client is given for each; `made_up` is what `hidden` is compared with."""
    rest: list[Check] = [("resource", [RESOURCE]), ("prompt", [PROMPT, PROMPT_ARGUMENTS])]
    if view != META:
        return [
            ("list", []),
            ("call", ["greet", {"name": "Ada"}]),
            ("error", ["test_error_handling", {}]),
            ("hidden", [f"test_{HIDDEN}", {}]),
            ("made_up", [f"test_{MADE_UP}", {}]),
            *rest,
            ("task", ["slow_compute", {"seconds": 0.2, "label": "Ada"}]),
        ]

    def call(tool: str, **params: Any) -> list[Any]:
        return ["call", {"module": "test", "tool_name": tool, "params": params}]

    step = {"id": "one", "module": "test", "tool_name": "say_greeting", "params": {"name": "Ada"}, "output": True}
    return [
        ("list", []),
        ("schema", ["get_module_schema", {"module": "test"}]),
        ("call", call("say_greeting", name="Ada")),
        ("batch", ["batch", {"commands": [step]}]),
        ("error", call("error_handling")),
        ("hidden", call(HIDDEN)),
        ("made_up", call(MADE_UP)),
        *rest,
        ("task", call("compute_slowly", seconds=0.2, label="Ada")),
    ]


def judge(view: str, answers: dict[str, Any]) -> dict[str, Cell]:
    """The cells of a view. `answers` has for a check `names` (of `list`), or `text` and `error`, or `unsupported` or
    `untried` with the reason, or `not_listed`; a task that was a call which waited is not `native`."""
    connect = answers.get("connect")
    if connect is not None:
        word, why = (UNSUPPORTED, connect["unsupported"]) if "unsupported" in connect else (NO, connect["text"])
        return {check: Cell(word, why) for check in CHECKS}
    return {check: _judge_one(check, view, answers) for check in CHECKS}


def _judge_one(check: str, view: str, answers: dict[str, Any]) -> Cell:
    if check == "batch" and view != META:
        return Cell(ABSENT)
    if check == "schema" and view != META:
        return _judge_list(view, answers)  # in plain view the schemas come with the list
    answer = answers.get(check)
    if answer is None:
        return Cell(NO, "it did not come to this")
    if "unsupported" in answer:
        return Cell(UNSUPPORTED, answer["unsupported"])
    if "untried" in answer:
        return Cell(UNTRIED, answer["untried"])
    if check == "list":
        return _judge_list(view, answers)
    if check == "hidden":
        return _judge_hidden(answer, answers.get("made_up", {}))
    if answer.get("not_listed"):
        return Cell(NO, "not listed")
    return _judge_text(check, answer)


def _judge_list(view: str, answers: dict[str, Any]) -> Cell:
    names = answers.get("list", {}).get("names")
    if names is None:
        return Cell(NO, str(answers.get("list")))
    wanted = set(META_TOOLS) if view == META else {"greet", "test_error_handling", "slow_compute"}
    strangers = {f"test_{HIDDEN}", *(set() if view == META else META_TOOLS)}
    if not wanted <= set(names) or strangers & set(names):
        return Cell(NO, f"it lists {sorted(names)}")
    return Cell(YES)


def _judge_hidden(answer: dict[str, Any], made_up: dict[str, Any]) -> Cell:
    """A hidden tool is told of as a made-up one is."""

    def told_of(given: dict[str, Any]) -> dict[str, str]:
        return {key: _OF_A_CALL.sub("", str(value)).replace(HIDDEN, MADE_UP) for key, value in given.items()}

    if told_of(answer) != told_of(made_up):
        return Cell(NO, f"it is told of otherwise than a made-up one: [{answer}, {made_up}]")
    told = answer.get("not_listed") or "o such" in answer.get("text", "") or "nknown tool" in answer.get("text", "")
    return Cell(YES) if told or answer.get("error") else Cell(NO, f"it was answered: [{answer}]")


def _judge_text(check: str, answer: dict[str, Any]) -> Cell:
    wanted = {
        "schema": "simple_text",
        "call": GREETING,
        "batch": GREETING,
        "error": FAILURE,
        "resource": RESOURCE_TEXT,
        "prompt": PROMPT_TEXT,
        "task": COMPUTED,
    }[check]
    text = str(answer.get("text", ""))
    if wanted.replace("'", "") not in text.replace("'", "").replace("\\", ""):
        return Cell(NO, text[:1000] or json.dumps(answer))
    if check == "schema" and HIDDEN in text:
        return Cell(NO, "it shows a hidden tool")
    if check not in ("error", "schema") and answer.get("error"):
        return Cell(NO, text[:1000])
    if check == "task" and not answer.get("native", True):
        return Cell(UNSUPPORTED, "the call waits")
    return Cell(YES)
