"""Check of the files that a database's URL names for TLS: asyncpg says of most faults only that it cannot connect."""

import os
import ssl
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SETTING = "MCPIST_DATABASE_URL"


def find_tls_problem(url: str) -> str:
    """Say what is wrong with the files of a libpq URL, and what to do; "" where they can be used.

    The rules for the key's file are libpq's (PostgreSQL, 34.19.2 Client Certificates).
    """
    options = {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
    if options.get("sslmode", "prefer") == "disable":
        return ""
    named = [name for name in ("sslrootcert", "sslcrl", "sslcert", "sslkey") if options.get(name)]
    for name in named:
        if problem := _find_file_problem(Path(options[name])):
            return f"{name} in {SETTING}: {problem}"
    for name in ("sslrootcert", "sslcrl"):
        if name in named and not _is_pem(options[name]):
            return f"{name} in {SETTING}: {options[name]} is not a PEM file"
    if "sslrootcert" not in named and (missing := _find_missing_authority(options)):
        return missing
    if "sslkey" in named and (problem := _find_mode_problem(Path(options["sslkey"]))):
        return f"sslkey in {SETTING}: {problem}"
    if "sslcert" in named:
        return _find_pair_problem(options["sslcert"], options.get("sslkey"), options.get("sslpassword", ""))
    if "sslkey" in named:
        return f"{SETTING} names a key (sslkey) without its certificate: add sslcert=FILE"
    return ""


def _find_file_problem(path: Path) -> str:
    if not path.is_file():
        return f"{path} does not exist" if not path.exists() else f"{path} is not a file"
    if not os.access(path, os.R_OK):
        return f"{path} cannot be read by the user that MCPist runs as"
    return ""


def _find_missing_authority(options: Mapping[str, str]) -> str:
    """Look for the default authority, where the server's certificate has to be verified and the URL names none."""
    if not options.get("sslmode", "").startswith("verify-") or os.access(_get_default_authority(), os.R_OK):
        return ""
    return f"{SETTING} has sslmode={options['sslmode']} and no authority: add sslrootcert=FILE"


def _get_default_authority() -> Path:
    return Path("~/.postgresql/root.crt").expanduser()


def _find_mode_problem(path: Path) -> str:
    """A key may be read by its owner alone, or where root owns it by a group."""
    status = path.stat()
    forbidden = 0o027 if status.st_uid == 0 else 0o077
    if stat.S_IMODE(status.st_mode) & forbidden:
        return f"{path} can be read by others; run: chmod 600 {path}"
    return ""


def _find_pair_problem(certificate: str, key: str | None, password: str) -> str:
    files = f"sslcert and sslkey in {SETTING}: {certificate}" + (f" and {key}" if key else "")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, lambda: password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"{files} do not belong together"
        return f"{files} are not a PEM certificate with its private key, or the key's password (sslpassword) is wrong"
    except OSError:
        return f"{files} cannot be read"
    return ""


def _is_pem(path: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        return False
    return True
