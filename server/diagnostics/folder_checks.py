"""Look at the data folder, the keys' folder and the files that a start reads."""

import stat

from core.bilingual_text import say
from core.config.settings import Settings
from core.disk_errors import MIN_FREE_BYTES, explain_full_disk, get_free_bytes, is_read_only
from core.errors import Invalid
from server.deployment import DIGEST_KEY_FILE, KEYS_FOLDER, PASSWORDS_FILE
from server.diagnostics.finding import Finding
from server.start_files import list_start_files

LOW_FREE_BYTES = 512 * 1024 * 1024


def check_folder(settings: Settings) -> Finding:
    """Check that the data folder is there, is private, and has space."""
    home = settings.home
    if not home.is_dir():
        return Finding(
            "data folder",
            "error",
            say(
                "{home} does not exist; `mcpist up` makes it",
                "{home} がありません。`mcpist up` が作成します",
                home=home,
            ),
        )
    if home.stat().st_mode & 0o022:
        return Finding(
            "data folder",
            "error",
            say(
                "others can write to {home}; run: chmod go-w '{home}'",
                "{home} にほかのユーザーが書き込めます。実行してください：chmod go-w '{home}'",
                home=home,
            ),
        )
    if is_read_only(home):
        message = say(
            "{home} is on a read-only file system: make it writable, or choose another MCPIST_HOME",
            "{home} は読み取り専用のファイルシステムにあります。"
            "書き込み可能にするか、別の MCPIST_HOME を指定してください",
            home=home,
        )
        return Finding("data folder", "error", message)
    free = get_free_bytes(home)
    if free < MIN_FREE_BYTES:
        return Finding("data folder", "error", explain_full_disk(home))
    if free < LOW_FREE_BYTES:
        return Finding(
            "data folder",
            "error",
            say(
                "{home} has only {free} MiB of free space left",
                "{home} の空き容量は {free} MiB しかありません",
                home=home,
                free=free >> 20,
            ),
        )
    return Finding(
        "data folder", "ok", say("{home}, {free} GiB free", "{home}、空き {free} GiB", home=home, free=free >> 30)
    )


def check_keys(settings: Settings) -> list[Finding]:
    """Check the keys' folder; its files that a start reads have findings of their own."""
    home, folder = settings.home, settings.home / KEYS_FOLDER
    if not folder.is_dir():
        if not (home / "postgres" / "data").exists():
            return [
                Finding(
                    "keys",
                    "warning",
                    say("none yet; the first start makes them", "まだありません。最初の起動時に作成されます"),
                )
            ]
        return [
            Finding(
                "keys",
                "error",
                say(
                    "{folder} is missing; restore it from your copy",
                    "{folder} がありません。コピーから復元してください",
                    folder=folder,
                ),
            )
        ]
    paths = {folder, *folder.iterdir()} - {file.path for file in list_start_files(settings)}
    open_to_all = sorted(path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077)
    if open_to_all:
        return [
            Finding(
                "keys",
                "error",
                say(
                    "{path} can be read by others; run: chmod go= '{path}'",
                    "{path} をほかのユーザーが読み取れます。実行してください：chmod go= '{path}'",
                    path=path,
                ),
            )
            for path in open_to_all
        ]
    missing = [name for name in (PASSWORDS_FILE, DIGEST_KEY_FILE) if not (folder / name).exists()]
    if missing:
        return [
            Finding(
                "keys",
                "error",
                say(
                    "{names} missing in {folder}; restore it from your copy",
                    "{folder} に {names} がありません。コピーから復元してください",
                    names=", ".join(missing),
                    folder=folder,
                ),
            )
        ]
    return [
        Finding(
            "keys",
            "ok",
            say(
                "{folder}, readable by its owner only; not part of backups",
                "{folder}。所有者だけが読み取れます。バックアップには含まれません",
                folder=folder,
            ),
        )
    ]


def check_files(settings: Settings) -> list[Finding]:
    """Check the files that a start reads, each as the start reads it."""
    findings: list[Finding] = []
    for file in list_start_files(settings):
        try:
            file.read()
        except Invalid as error:
            findings.append(Finding(file.check, "error", str(error)))
        else:
            findings.append(
                Finding(file.check, "ok", say("{path} can be used", "{path} を使用できます", path=file.path))
            )
    return findings
