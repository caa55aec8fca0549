"""The fields of an unexpected exception in the log: its type and its place, never its text."""

import json
from pathlib import Path

from core.log_events import describe_error, error_location
from core.secret import Secret

SECRET = "hunter2"


def catch(function, *arguments) -> Exception:
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001 the functions of these tests raise what they like
        return error
    raise AssertionError


def fail_in_library() -> None:
    json.loads(SECRET)


def test_the_place_is_the_innermost_frame_that_is_no_library_s():
    line = fail_in_library.__code__.co_firstlineno + 1
    assert error_location(catch(fail_in_library)) == f"tests/core/{Path(__file__).name}:{line}"


def test_a_frame_of_the_product_is_named_by_its_path():
    assert error_location(catch(Secret(SECRET).__getattribute__, "nothing")).startswith("tests/core/")
    assert error_location(catch(describe_error, None)).startswith("core/log_events.py:")


def test_an_exception_that_was_never_raised_has_no_place():
    assert error_location(ValueError(SECRET)) == "?"


def test_the_fields_hold_nothing_of_the_text():
    fields = describe_error(catch(fail_in_library))
    assert fields["error"] == "JSONDecodeError"
    assert SECRET not in str(fields)
