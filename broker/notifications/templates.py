"""Texts of notifications, in English and Japanese in one message, because the reader's language is unknown."""

from dataclasses import dataclass
from datetime import UTC, datetime

from broker.connections.connection_status import (
    OAUTH_CLIENTS_PATH,
    HealthState,
    build_connect_path,
    describe_cause,
    get_catalogue_word,
)
from broker.notifications.outbox import EndedJob, UserNotification
from core.connection_causes import find_cause

JOBS_PATH = "/console/jobs"
_JOB_STATES = {
    "succeeded": ("has succeeded", "成功しました"),
    "failed": ("has failed", "失敗しました"),
    "cancelled": ("was cancelled", "取り消されました"),
    "unknown": ("was cut off, and may have taken effect", "中断されました。実行された可能性があります"),
}


@dataclass(frozen=True, slots=True)
class NotificationText:
    """Plain text. `link` is where it is mended."""

    subject: str
    body: str
    link: str


def render_notification(notice: UserNotification, title: str, public_url: str) -> NotificationText:
    """`title` is the service's or provider's name for people."""
    if notice.job is not None:
        return _render_job_end(notice, notice.job, public_url + JOBS_PATH)
    if notice.subject_type == "oauth_client":
        return _render_client_refusal(notice, title, public_url + OAUTH_CLIENTS_PATH)
    link = public_url + (build_connect_path(notice.module, notice.role_id) if notice.module else OAUTH_CLIENTS_PATH)
    account = f" ({notice.account})" if notice.account else ""
    if notice.ends_at is not None:
        return _render_expiry_warning(notice, f"{title}{account}", notice.ends_at, link)
    whose = "the account that a role shares" if notice.role_id else "your account"
    whose_ja = "ロールで共有しているアカウント" if notice.role_id else "あなたのアカウント"
    body = (
        f"MCPist can no longer use {whose} at {title}{account}.\n"
        f"Why: {describe_cause(notice.cause)}.\n"
        f"Connect it again: {link}\n\n"
        f"MCPist は {title}{account} の{whose_ja}を使えなくなりました。\n"
        f"理由: {_describe_in_japanese(notice)}\n"
        f"次のページで接続し直してください: {link}\n"
    )
    return NotificationText(f"MCPist: {title} has to be connected again / 再接続が必要です", body, link)


def _render_job_end(notice: UserNotification, job: EndedJob, link: str) -> NotificationText:
    title = "".join(sign if sign.isprintable() else " " for sign in job.title) or f"{job.module}.{job.tool}"
    state, state_ja = _JOB_STATES[notice.cause]
    times = f"{_format_time(job.began_at)} – {_format_time(notice.created_at)}"
    body = (
        f"{title}: {state}.\n"
        f"Time: {times}\n"
        f"Its result is kept for a while: {link}\n\n"
        f"{title}: {state_ja}\n"
        f"時刻: {times}\n"
        f"結果はしばらく保存されます: {link}\n"
    )
    return NotificationText(f"MCPist: {title} {state} / {state_ja}", body, link)


def _format_time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _render_expiry_warning(notice: UserNotification, whose: str, ends_at: datetime, link: str) -> NotificationText:
    until = _format_time(ends_at)
    body = (
        f"The access to {whose} ends on {until}.\n"
        f"Why: {describe_cause(notice.cause)}.\n"
        f"Connect it again before that, and nothing is interrupted: {link}\n\n"
        f"{whose} へのアクセスは {until} に終了します。\n"
        f"理由: {_describe_in_japanese(notice)}\n"
        f"それまでに次のページで接続し直せば、中断なく利用できます: {link}\n"
    )
    return NotificationText(f"MCPist: {whose} has to be connected again by {until} / 再接続のお願い", body, link)


def _render_client_refusal(notice: UserNotification, title: str, link: str) -> NotificationText:
    body = (
        f"{title} refuses the OAuth client that is registered for {notice.tenant}.\n"
        f"Why: {describe_cause(notice.cause)}.\n"
        f"No account is lost. Look at the client's id, secret and redirect URI: {link}\n\n"
        f"{title} が {notice.tenant} の OAuth クライアントを拒否しています。接続済みのアカウントは失われていません。\n"
        f"理由: {_describe_in_japanese(notice)}\n"
        f"クライアント ID、シークレット、リダイレクト URI を確認してください: {link}\n"
    )
    return NotificationText(
        f"MCPist: {title} refuses the OAuth client / OAuth クライアントが拒否されています", body, link
    )


def _describe_in_japanese(notice: UserNotification) -> str:
    return find_cause(get_catalogue_word(notice.cause, HealthState.NEEDS_RECONNECT)).ja
