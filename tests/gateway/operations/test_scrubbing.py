import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.operations.scrubbing import names_secret, scrub

TOKEN = "mcpist_0123456789Ab" + "x" * 43 + "1a2b3c"
JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJrZWkifQ.c2lnbmF0dXJlLXRleHQ"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"token {TOKEN} refused", TOKEN),
        (f"token {TOKEN[:30]} cut off", TOKEN[19:30]),
        (f"Authorization: Bearer {TOKEN}", TOKEN),
        ("authorization: bearer abc123def456", "abc123def456"),
        ("Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"),
        (f"jwt={JWT}", "eyJzdWIiOiJrZWkifQ"),
        (f"https://x.example/cb?code=1#{JWT}", JWT),
        ("postgresql://kei:hunter2@db.example/mcpist", "hunter2"),
        ("postgres://kei:p@ss/w:rd@db.example/mcpist", "w:rd"),
        ("postgresql+asyncpg://kei:hunter2@db/mcpist", "hunter2"),
        ("redis://:hunter2@cache:6379/0", "hunter2"),
        ("host=db user=kei password=hunter2 dbname=x", "hunter2"),
        ("host=db password='hun ter2'", "hun ter2"),
        ("https://x.example/?client_secret=hunter2&a=1", "hunter2"),
        ("refresh_token=hunter2", "hunter2"),
    ],
)
def test_secrets_are_masked_as_text_and_in_json(text: str, secret: str) -> None:
    assert secret not in scrub(text)
    line = scrub(orjson.dumps({"message": text, "next": "kept"}).decode())
    assert secret not in line
    assert orjson.loads(line)["next"] == "kept"


@pytest.mark.parametrize(
    "text",
    [
        "role mcpist_gateway may not read vault",
        "mcpist_call_duration_seconds_bucket",
        "mcpist_generation_listener_up",
        "use bearer authentication, or the basic one",
        "postgresql://db.example/mcpist",
        "listening on http://127.0.0.1:8080/mcp as kei@example.com",
        "token 7 of 9, password wrong",
        "日本語のメッセージ",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert scrub(text) == text


@given(st.text(), st.sampled_from([TOKEN, JWT, f"Bearer {TOKEN}", "postgresql://kei:hunter2@db"]), st.text())
def test_json_stays_json_and_the_secret_goes(before: str, secret: str, after: str) -> None:
    text = f"{before} {secret} {after}"
    line = scrub(orjson.dumps({"message": text, "next": 1}).decode())
    assert orjson.loads(line)["next"] == 1
    assert "hunter2" not in line
    assert TOKEN not in line
    assert JWT not in line


@pytest.mark.parametrize("text", ["a" * 50_000 + "://", "eyJ" * 10_000, "postgres://" * 3_000, "bearer " * 5_000])
def test_hostile_text_is_scrubbed_in_time(text: str) -> None:
    begin = time.perf_counter()
    scrub(text)
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("name", ["password", "client_secret", "Authorization", "api_key", "refresh_token", "cookie"])
def test_names_of_secrets(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize("name", ["token_id", "tokens", "key", "cause", "passwords_changed"])
def test_other_names(name: str) -> None:
    assert not names_secret(name)
