"""What a vendor remembers: codes, grants, and which refresh token of each is the one that counts."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.vendor_tokens.styles import DAY, Style


@dataclass
class Fault:
    """What happens to the next request of the token endpoint instead of, or around, an answer.

    `kind`: ``status`` (with `status`, `headers`, `body`), ``hang_up_before``, ``hang_up_after`` (the vendor has done
    it), ``cut`` (half of the answer), ``stall_after`` (done, and never answered), ``garbage`` (done; `body` as 200).
    """

    kind: str
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: Any = ""

    @property
    def is_after(self) -> bool:
        return self.kind in ("hang_up_after", "cut", "stall_after", "garbage")


@dataclass
class Grant:
    """One consent. `spent` holds used refresh tokens: when, and what they got."""

    scopes: list[str]
    refresh: str = ""
    access: set[str] = field(default_factory=set[str])
    good_old: set[str] = field(default_factory=set[str])
    spent: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict[str, tuple[float, dict[str, Any]]])
    dead: bool = False
    refreshes: bool = True
    began: float = 0.0
    used: float = 0.0


@dataclass
class _Code:
    grant: Grant
    redirect_uri: str
    challenge: str


class Refused(Exception):
    """The request is refused, as `kind` of the style's refusals."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class State:
    """All grants. `now` is in seconds and goes when a test says so; `reused` counts spent tokens shown again."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.now = 1_000_000.0
        self.grants: list[Grant] = []
        self.presented: list[str] = []
        self.reused = 0
        self.replayed = 0
        self._codes: dict[str, _Code] = {}

    def consent(
        self,
        scopes: list[str],
        redirect_uri: str,
        verifier: str,
        unticked: tuple[str, ...] = (),
        asked: Mapping[str, str] | None = None,
    ) -> str:
        """A person says yes, but for what they untick; the code that the browser brings. `asked` is the whole
        authorization request, where it is to be looked at."""
        grant = self._granted([scope for scope in scopes if scope not in unticked])
        if asked is not None:
            style = self.style
            scoped = not style.refresh_scope or style.refresh_scope in asked.get("scope", "").split()
            grant.refreshes = scoped and style.refresh_needs.items() <= asked.items()
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = urlsafe_b64encode(digest).decode().rstrip("=") if self.style.pkce and verifier else ""
        code = "code-" + secrets.token_urlsafe(24)
        self._codes[code] = _Code(grant, redirect_uri, challenge)
        return code

    def agree(self, url: str, issuer: str = "") -> str:
        """A person opens the authorization page at `url` and says yes; where their browser is sent back to."""
        asked = dict(parse_qsl(urlsplit(url).query))
        code = self.consent(asked.get("scope", "").split(), asked["redirect_uri"], "")
        self._codes[code].challenge = asked.get("code_challenge", "") if self.style.pkce else ""
        answer = {"code": code, "state": asked["state"], **({"iss": issuer} if issuer else {})}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def _granted(self, scopes: list[str]) -> Grant:
        if self.style.same_grant_again and self.grants and not self.grants[-1].dead:
            return self.grants[-1]
        grant = Grant(scopes, began=self.now, used=self.now)
        self.grants.append(grant)
        most = self.style.most_grants
        for old in self.grants[: -most if most else 0]:
            old.dead = True
            old.access.clear()
        return grant

    def _has_lived(self, grant: Grant) -> bool:
        """Whether its time is over."""
        idle, life = self.style.idle_days, self.style.life_days
        unused = idle is not None and self.now - grant.used > idle * DAY
        return unused or (life is not None and self.now - grant.began > life * DAY)

    def redeem(self, fields: dict[str, str]) -> dict[str, Any]:
        """The answer to a code; it counts once."""
        known = self._codes.pop(fields.get("code", ""), None)
        if known is None or known.redirect_uri != fields.get("redirect_uri"):
            raise Refused("code")
        verifier = fields.get("code_verifier", "")
        made = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        if known.challenge and made != known.challenge:
            raise Refused("code")
        return self._answer(known.grant, first=True)

    def refresh(self, token: str) -> dict[str, Any]:
        """The answer to a refresh token, by the vendor's rules."""
        self.presented.append(token)
        grant = next((one for one in self.grants if token in (one.refresh, *one.good_old, *one.spent)), None)
        if grant is None or grant.dead or self._has_lived(grant):
            raise Refused("dead")
        grant.used = self.now
        if token in grant.spent:
            return self._shown_again(grant, token)
        before = grant.refresh
        answer = self._answer(grant, first=False)
        if self.style.rotates and self.style.old_stays_good:
            grant.good_old.add(before)
        elif self.style.rotates:
            grant.spent[token] = (self.now, answer)
        return answer

    def revoke(self, token: str) -> bool:
        """End the grant that a token belongs to."""
        for grant in self.grants:
            kinds = {"access": grant.access, "refresh": {grant.refresh}, "either": {grant.refresh, *grant.access}}
            if token in kinds[self.style.revokes_by] and not grant.dead:
                grant.dead = True
                grant.access.clear()
                return True
        return False

    def alive(self, access: str) -> bool:
        """Whether the vendor's API takes this access token."""
        return any(access in grant.access for grant in self.grants)

    def _shown_again(self, grant: Grant, token: str) -> dict[str, Any]:
        when, answer = grant.spent[token]
        if self.now - when <= self.style.grace_seconds and self.style.grace_seconds:
            self.replayed += 1
            return answer
        self.reused += 1
        grant.dead = True
        grant.access.clear()
        raise Refused("dead")

    def _answer(self, grant: Grant, *, first: bool) -> dict[str, Any]:
        style = self.style
        if first and style.same_grant_again and grant.access:
            return self._told_again(grant)
        if style.kills_access:
            grant.access.clear()
        access = "at_" + secrets.token_urlsafe(32)
        grant.access.add(access)
        answer: dict[str, Any] = {"access_token": access, "token_type": "bearer", **style.extra}
        if style.access_seconds is not None:
            answer["expires_in"] = style.access_seconds
        if style.gives_refresh and grant.refreshes:
            if first or style.rotates:
                grant.refresh = "rt_" + secrets.token_urlsafe(32)
            if first or not style.omits_refresh:
                answer["refresh_token"] = grant.refresh
        if style.refresh_seconds is not None:
            answer["refresh_token_expires_in"] = style.refresh_seconds
        return answer | self._scope(grant)

    def _told_again(self, grant: Grant) -> dict[str, Any]:
        tokens = {"access_token": max(grant.access), "token_type": "bearer", "refresh_token": grant.refresh}
        return {**tokens, **self.style.extra, **self._scope(grant)}

    def _scope(self, grant: Grant) -> dict[str, str]:
        separator = self.style.scope_separator
        if separator is None:
            return {}
        if not separator:
            return {"scope": ""}
        named = [self.style.scope_names.get(one, one) for one in grant.scopes if one not in self.style.unreported]
        return {"scope": separator.join(named)}
