"""notices.toml: what is wrong is named, and secrets are not said."""

from pathlib import Path

import pytest

from broker.notifications.settings import decode_webhook_secret, load_notification_settings
from core.errors import Invalid

MAIL = '[mail]\nserver = "smtp.example.com"\nsender = "M <mcpist@example.com>"\nuser = "u"\npassword = "p4ssw0rd"\n'
HOOK = '[webhook]\nurl = "https://alarm.example.com/x"\nsecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="\n'


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "notices.toml"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_both_ways_and_none(tmp_path: Path) -> None:
    settings = load_notification_settings(written(tmp_path, MAIL + HOOK))
    assert settings.mail is not None
    assert settings.webhook is not None
    assert (settings.mail.port, settings.mail.security) == (587, "starttls")
    assert decode_webhook_secret(settings.webhook.secret) == b"01234567890123456789012345678901"
    assert "p4ssw0rd" not in repr(settings)
    assert load_notification_settings(tmp_path / "none.toml").mail is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[mail", "is not valid TOML"),
        (MAIL + "p4ssw0rd p4ssw0rd", "is not valid TOML"),
        (MAIL.replace("sender", "from"), "mail.sender: it is missing"),
        (MAIL.replace("mcpist@example.com", "nobody"), "mail.sender: give an address"),
        (MAIL + "port = 0\n", "mail.port"),
        (MAIL + 'security = "none"\n', "use starttls or tls"),
        (HOOK.replace("whsec_", ""), "webhook.secret: give whsec_"),
        (HOOK.replace("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "MDEy"), "at least 24 random bytes"),
        (HOOK.replace("https://", "ftp://"), "webhook.url: give a URL"),
        (HOOK + "more = 1\n", "webhook.more"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Invalid, match=told) as wrong:
        load_notification_settings(written(tmp_path, text))
    assert "p4ssw0rd" not in str(wrong.value)
    assert "MDEy" not in str(wrong.value)


def test_others_may_not_read_it(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="can be read by others"):
        load_notification_settings(written(tmp_path, MAIL, 0o644))
