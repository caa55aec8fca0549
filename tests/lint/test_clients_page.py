"""The table of the authorization server's settings says what the settings are (docs/clients.md)."""

import json
import re
import tomllib
from pathlib import Path

from broker.identity.settings import AuthorizationServerSettings, IdentitySettings

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs" / "clients.md").read_text("utf-8").partition("### The authorization server's settings")[2]
SECTION = SECTION.partition("\n## ")[0]
ROWS = {row[1]: row[2] for row in re.finditer(r"^\| `(\w+)` \| .*? \| (`[^`]*`|\d+)[^|]*\| [^|]*\|$", SECTION, re.M)}


def test_every_key_is_there_with_its_default() -> None:
    defaults = AuthorizationServerSettings().model_dump()
    written = {name: json.loads(default.strip("`")) for name, default in ROWS.items()}
    assert written == {name: list(one) if isinstance(one, tuple) else one for name, one in defaults.items()}


def test_the_example_is_taken() -> None:
    example = re.search(r"```toml\n(.*?)```", SECTION, re.S)
    assert example is not None
    settings = IdentitySettings.model_validate(tomllib.loads(example[1]))
    assert settings.authorization_server.client_metadata_hosts == ("claude.ai", "*.example.com")
