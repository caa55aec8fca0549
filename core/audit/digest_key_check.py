"""Check of the key of argument digests: the database knows which key the digests of its audit log were made with."""

import hashlib
import hmac
from pathlib import Path

from core.audit.event import DEPLOYMENT_CHAIN
from core.bilingual_text import BilingualText, say
from core.db import Database
from core.errors import Invalid
from core.secret import Secret

CHECK_LABEL = b"mcpist argument digests"


async def record_digest_key(database: Database, key: Secret) -> None:
    """Record a check of the key unless the database has one; `database` is logged in as the broker."""
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        await work.execute(_ADD, _compute_check_value(key))


async def check_digest_key(database: Database, key: Secret, path: Path) -> None:
    """Compare the key with the recorded one; any of the product's roles may.

    Raises:
        Invalid: it is another one; the text names the file `path`.
    """
    if problem := await find_digest_key_problem(database, key, path):
        raise Invalid(str(problem))


async def find_digest_key_problem(database: Database, key: Secret, path: Path) -> BilingualText | None:
    """Explain what is wrong with the key; None where it is the right one, or none is recorded."""
    rows = await database.fetch("SELECT mac FROM audit.digest_key_check")
    if not rows or hmac.compare_digest(rows[0]["mac"], _compute_check_value(key)):
        return None
    return say(
        "{path} was lost and made anew, or is another deployment's: arguments in the audit log would get other digests "
        "than before, or than at other gateways. Restore the file from your copy of the keys. If there is no copy, run "
        "`mcpist keys forget-digest`",
        "{path} は失われて作り直されたか、別のデプロイメントのものです。監査ログの引数のダイジェストが以前や他の"
        "ゲートウェイと一致しなくなります。鍵のコピーから復元してください。コピーがない場合は "
        "mcpist keys forget-digest を実行してください",
        path=path,
    )


async def forget_digest_key(database: Database) -> None:
    """Forget the recorded check, so that the next start records another key; `database` is logged in as the broker."""
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        await work.execute(_REMOVE)


def _compute_check_value(key: Secret) -> bytes:
    return hmac.digest(key.reveal().encode(), CHECK_LABEL, hashlib.sha256)


# These name no tenant's rows; $1 is there because every statement has it.
_ADD = """INSERT INTO audit.digest_key_check (mac) SELECT $2 WHERE $1::uuid IS NOT NULL
    ON CONFLICT DO NOTHING"""
_REMOVE = "DELETE FROM audit.digest_key_check WHERE $1::uuid IS NOT NULL"
