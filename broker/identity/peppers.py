"""Peppers of API tokens and client secrets: a file, compared with the checks that the database keeps of it.

A file that was created again, or copied from another deployment, would make every token and secret invalid silently.
"""

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path

from broker.vault.key_wrapping import KeyFile, load, load_or_create
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.bilingual_text import BilingualText, say
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid

Peppers = KeyFile
"""Every pepper that stored tokens may name, and the id of the one that new tokens get."""
CHECK_LABEL = b"mcpist token pepper "


async def open_peppers(database: Database, path: Path) -> Peppers:
    """Read the file of peppers, which the first start makes; `database` is logged in as the broker.

    Raises:
        Invalid: the file is missing or lacks a pepper that was used, can be read by others, or is no key file.
    """
    if problem := await find_pepper_problem(database, path):
        raise Invalid(str(problem))
    peppers = load_or_create(path)
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        for kid, key in peppers.keys.items():
            await work.execute(_ADD, kid, _compute_check_value(kid, key))
    return peppers


async def find_pepper_problem(database: Database, path: Path) -> BilingualText | None:
    """Explain what is wrong with the file of peppers; None where it is the right one, or none was ever used.

    Raises:
        Invalid: the file can be read by others, or is no key file.
    """
    lost = _list_lost(await _load_checks(database), path)
    if not lost:
        return None
    return say(
        "{path} is missing or does not contain the pepper {kid}; API tokens and client secrets are invalid without it. "
        "Restore the file from your copy of the keys. If there is no copy, run `mcpist keys forget-peppers` and create "
        "them again",
        "{path} がないか、ペッパー {kid} が含まれていません。これがないと API トークンとクライアントシークレットは"
        "使えません。鍵のコピーから復元してください。コピーがない場合は mcpist keys forget-peppers を実行し、"
        "作り直してください",
        path=path,
        kid=lost[0],
    )


async def forget_lost_peppers(database: Database, path: Path, actor: Actor) -> list[str]:
    """Forget the peppers that the file lacks, or has with another value; return their ids. Tokens and secrets that were
    made with them stay invalid unless the file is restored.

    Raises:
        Invalid: the file can be read by others, or is no key file.
    """
    lost = _list_lost(await _load_checks(database), path)
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        for kid in lost:
            await work.execute(_REMOVE, kid)
            await audit_change(work, actor, AuditEventKind.KEY_RETIRED, purpose="tokens", key=kid)
    return lost


async def _load_checks(database: Database) -> Mapping[str, bytes]:
    return {row["kid"]: row["mac"] for row in await database.fetch("SELECT kid, mac FROM auth.pepper_checks")}


def _list_lost(checks: Mapping[str, bytes], path: Path) -> list[str]:
    if not checks:
        return []
    keys: Mapping[str, bytes] = load(path).keys if path.exists() else {}
    return [
        kid
        for kid, mac in sorted(checks.items())
        if kid not in keys or not hmac.compare_digest(mac, _compute_check_value(kid, keys[kid]))
    ]


def _compute_check_value(kid: str, key: bytes) -> bytes:
    return hmac.digest(key, CHECK_LABEL + kid.encode(), hashlib.sha256)


# These name no tenant's rows; $1 is there because every statement has it.
_ADD = """INSERT INTO auth.pepper_checks (kid, mac) SELECT $2, $3 WHERE $1::uuid IS NOT NULL
    ON CONFLICT DO NOTHING"""
_REMOVE = "DELETE FROM auth.pepper_checks WHERE $1::uuid IS NOT NULL AND kid = $2"
