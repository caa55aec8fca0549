"""The pure decision: the union of roles, deny within its own role, services, read-only credentials."""

import pytest

from core.errors import Invalid
from core.permissions import Policy, Role, build_role, parse_permission, permits

SERVICES = frozenset({"notes", "mail"})


def policy(*roles: Role) -> Policy:
    return Policy(roles, SERVICES)


def allowing(*permissions: str, deny: tuple[str, ...] = ()) -> Role:
    return build_role("r", [*(("allow", p) for p in permissions), *(("deny", p) for p in deny)])


@pytest.mark.parametrize(
    ("permission", "read", "write", "elsewhere"),
    [
        ("*", True, True, True),
        ("notes.*", True, True, False),
        ("notes:read", True, False, False),
        ("notes.find", True, False, False),
        ("notes.write", False, True, False),
        ("mail.*", False, False, True),
    ],
)
def test_what_one_permission_covers(permission: str, read: bool, write: bool, elsewhere: bool) -> None:
    one = policy(allowing(permission))
    assert permits(one, "notes", "find", read_only=True) is read
    assert permits(one, "notes", "write", read_only=False) is write
    assert permits(one, "mail", "send", read_only=False) is elsewhere


def test_deny_takes_away_from_its_own_role_only() -> None:
    denying = allowing("notes.*", deny=("notes.write",))
    assert not permits(policy(denying), "notes", "write", read_only=False)
    assert permits(policy(denying, allowing("notes.write")), "notes", "write", read_only=False)


@pytest.mark.parametrize(
    ("denied", "read", "write", "elsewhere"),
    [
        ("*", False, False, False),
        ("notes.*", False, False, True),
        ("notes:read", False, True, True),
        ("notes.find", False, True, True),
        ("notes.write", True, False, True),
        ("mail:read", True, True, True),
    ],
)
def test_what_one_denial_takes_away(denied: str, read: bool, write: bool, elsewhere: bool) -> None:
    one = policy(allowing("*", deny=(denied,)))
    assert permits(one, "notes", "find", read_only=True) is read
    assert permits(one, "notes", "write", read_only=False) is write
    assert permits(one, "mail", "send", read_only=False) is elsewhere
    assert permits(one, "mail", "list", read_only=True) is (elsewhere and denied != "mail:read")


def test_no_role_no_tool() -> None:
    assert not permits(policy(), "notes", "find", read_only=True)


def test_a_service_that_is_off_has_no_tools() -> None:
    assert not permits(Policy((allowing("*"),), frozenset()), "notes", "find", read_only=True)


def test_writing_tools_do_not_exist_for_a_read_only_credential() -> None:
    everything = policy(allowing("*"))
    assert permits(everything, "notes", "find", read_only=True, only_reading=True)
    assert not permits(everything, "notes", "write", read_only=False, only_reading=True)


@pytest.mark.parametrize(
    "text", ["", "notes", "notes.", ".find", "notes:write", "notes.*.x", "Notes.find", "a b.c", "*.*"]
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"module\.tool"):
        parse_permission(text)


@pytest.mark.parametrize("text", ["*", "notes.*", "notes:read", " notes.find "])
def test_the_four_forms(text: str) -> None:
    assert parse_permission(text) == text.strip()
