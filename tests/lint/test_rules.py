"""Every rule fires on what it forbids, and only there."""

from pathlib import Path

import pytest

from tests.lint.rules import RULES, findings, parse


def names(path: str, text: str) -> list[str]:
    return [finding.rule for finding in findings(parse(Path(path), text))]


FORBIDDEN = [
    ("unit-of-work", "broker/x.py", "await session.commit()"),
    ("unit-of-work", "gateway/x.py", "engine = create_async_engine(url)"),
    ("unit-of-work", "gateway/x.py", "with orm.Session(engine) as s: pass"),
    ("unit-of-work", "core/x.py", "makers = async_sessionmaker(engine)"),
    ("unit-of-work", "core/x.py", "connection = asyncpg.connect(dsn)"),
    ("composed-sql", "core/db.py", "connection.execute(f'SELECT {column}')"),
    ("composed-sql", "core/x.py", "work.fetch('SELECT * FROM t WHERE a = %s' % value)"),
    ("composed-sql", "core/x.py", "work.fetchrow('SELECT ' + column)"),
    ("composed-sql", "core/x.py", "work.fetchval('SELECT {}'.format(column))"),
    ("composed-sql", "core/x.py", "work.fetch(', '.join(columns))"),
    ("composed-sql", "core/x.py", "statement = text(f'SELECT {column}')"),
    ("composed-sql", "core/x.py", "def f(work):\n    sql = f'SELECT {column}'\n    return work.fetch(sql)"),
    (
        "composed-sql",
        "core/x.py",
        "def f(work):\n    sql = 'SELECT 1'\n    sql += ' WHERE ' + more\n    return work.fetch(sql)",
    ),
    ("composed-sql", "core/x.py", "work.fetch(sql=f'SELECT {column}')"),
    ("safe-to-log", "broker/x.py", "log.info('verified %s', token)"),
    ("safe-to-log", "broker/x.py", "self._logger.warning(f'wrong {user.password}')"),
    ("safe-to-log", "broker/x.py", "logging.info('x', extra={'client_secret': value})"),
    ("safe-to-log", "broker/x.py", "log.debug('headers', headers['authorization'])"),
    ("safe-to-log", "broker/x.py", "log.debug('event', access_token=value)"),
    ("log-event", "gateway/x.py", "log.info('it broke')"),
    ("log-event", "core/x.py", "self._log.error('it broke', extra={'error': 'OSError'})"),
    ("log-event", "server/x.py", "log.error('it broke', extra={'event': 'It broke'})"),
    ("log-event", "modules/x.py", "log.error('it broke', extra=fields)"),
    ("log-event", "modules/x.py", "context.log.error('It broke', 'it broke')"),
    ("reads-tokens", "broker/x.py", "from joserfc import jwt"),
    ("reads-tokens", "broker/x.py", "from joserfc.jwt import decode"),
    ("reads-tokens", "broker/x.py", "import joserfc.jws"),
    ("reads-tokens", "gateway/x.py", "from authlib.jose import JsonWebToken"),
    ("reads-tokens", "gateway/x.py", "import jwt"),
    ("reads-environment", "core/x.py", "home = os.environ['HOME']"),
    ("reads-environment", "server/x.py", "home = os.getenv('HOME')"),
    ("reads-environment", "broker/x.py", "from os import environ"),
]

ALLOWED = [
    ("core/db.py", "await session.commit()"),
    ("tests/x.py", "connection = asyncpg.connect(dsn)"),
    ("core/x.py", "work.fetch('SELECT a '\n 'FROM t WHERE a = $2', value)"),
    ("core/x.py", "work.fetch('SELECT a ' + 'FROM t')"),
    ("core/x.py", "work.fetch(SELECT_ALL, value)"),
    ("core/x.py", "work.execute('SELECT set_config($1, $2, true)', 'app.' + key, value)"),
    ("core/x.py", "def f():\n    sql = f'{a}'\n    return sql\ndef g(work, sql):\n    return work.fetch(sql)"),
    ("broker/x.py", "log.info('a token was revoked', extra={'token_id': token_id})"),
    ("broker/x.py", "dialog.info(token)"),
    ("gateway/x.py", "log.info('it broke', extra={'event': 'it_broke', **fields})"),
    ("gateway/x.py", "log.info(text, extra={'event': event})"),
    ("modules/x.py", "context.log.info('item_indexed', 'an item was indexed', code=code)"),
    ("broker/authorization_server/jose.py", "from joserfc import jws"),
    ("broker/x.py", "from joserfc.jwk import Key"),
    ("tests/x.py", "from joserfc import jwt"),
    ("cli/main.py", "home = os.environ['HOME']"),
    ("tests/x.py", "os.environ['HOME'] = '/nowhere'"),
]


@pytest.mark.parametrize(("rule", "path", "text"), FORBIDDEN)
def test_a_rule_fires(rule: str, path: str, text: str) -> None:
    assert names(path, text) == [rule]


@pytest.mark.parametrize(("rule", "path", "text"), FORBIDDEN)
def test_an_escape_needs_the_right_name_and_a_reason(rule: str, path: str, text: str) -> None:
    assert names(path, f"{text}  # {rule}: the reviewer agreed") == []
    assert names(path, f"{text}  # {rule}:") == [rule]
    assert names(path, f"{text}  # another-rule: the reviewer agreed") == [rule]


@pytest.mark.parametrize(("path", "text"), ALLOWED)
def test_what_is_allowed_stays_silent(path: str, text: str) -> None:
    assert names(path, text) == []


def test_every_rule_is_tried() -> None:
    assert {rule for rule, _, _ in FORBIDDEN} == {rule.name for rule in RULES}
