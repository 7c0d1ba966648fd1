"""Tokens: made, found, expired, revoked, limited; what is stored of them, and where they must not be."""

import sqlite3
import stat
from collections import Counter
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from lapwing import errors
from lapwing.cli.main import main
from lapwing.server import access as module
from lapwing.server.access import MOST_DAYS, Access, invite
from lapwing.server.permissions import SERVER, Role
from lapwing.server.store import AccessStore, format_table, tokens
from lapwing.server.tokens import from_header, hash_of, in_address, is_token, make_token, number_of
from lapwing.source import Source


@pytest.fixture
def access(tmp_path, frozen_noise):
    return Access(AccessStore(str(tmp_path / "access.sqlite")))


def test_a_token_has_256_random_bits_and_one_form():
    made = {make_token() for _ in range(100)}
    assert len(made) == 100
    secrets = [int(token.rpartition("_")[2], 16) for token in made]
    for bit in range(256):  # each of them varies
        assert len({secret >> bit & 1 for secret in secrets}) == 2
    assert all(number_of(token) == token.split("_")[1] for token in made)


def test_only_a_hash_is_stored_in_a_file_of_the_owner_alone(access, tmp_path):
    made = invite(access, "ana", Role.ANALYST, ["visits"], 30)
    file = tmp_path / "access.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = made.text.rpartition("_")[2]
    assert secret.encode() not in file.read_bytes()
    assert hash_of(made.text) in sqlite3.connect(file).execute("SELECT hash FROM lapwing_tokens").fetchone()
    assert secret not in repr(made) + repr(access.tokens())
    assert "hash" not in access.tokens()[0]


def test_a_token_gives_the_roles_that_its_person_has_now(access):
    made = invite(access, "ana", Role.ANALYST, ["visits", "survey"], 30)
    assert access.caller(made.text).roles == {"visits": {Role.ANALYST}, "survey": {Role.ANALYST}}
    access.add_role("ana", "visits", Role.AUDITOR)
    assert access.caller(made.text).roles["visits"] == {Role.ANALYST, Role.AUDITOR}
    assert access.remove_roles("ana", "visits", but=Role.AUDITOR) == 1
    assert access.caller(made.text).roles == {"visits": {Role.AUDITOR}, "survey": {Role.ANALYST}}
    access.remove_roles("ana", "visits")
    assert access.caller(made.text).roles == {"survey": {Role.ANALYST}}


def test_a_token_of_someone_without_roles_is_valid_and_gives_none(access):
    caller = access.caller(access.make_token("ana", 30).text)
    assert (caller.person, caller.roles) == ("ana", {})


def test_a_token_gives_nobody_the_roles_of_another(access):
    invite(access, "olga", Role.OWNER, ["visits"], 30)
    made = invite(access, "ana", Role.ANALYST, ["survey"], 30)
    assert access.caller(made.text).roles == {"survey": {Role.ANALYST}}


def test_a_token_is_limited_to_its_sources(access):
    wide = invite(access, "ana", Role.OWNER, ["visits", "survey"], 30)
    narrow = access.make_token("ana", 30, ["survey", "nosuch"])
    assert set(access.caller(wide.text).roles) == {"visits", "survey"}
    assert set(access.caller(narrow.text).roles) == {"survey"}


@pytest.mark.parametrize("change", [1, -1, 0])
def test_a_token_that_is_not_exactly_the_one_made_is_nobodys(access, change):
    text = invite(access, "ana", Role.ANALYST, ["visits"], 30).text
    other = f"{text[:change]}{'0' if text[change] != '0' else '1'}{text[change + 1 :] if change != -1 else ''}"
    assert access.caller(text).person == "ana"
    assert access.caller(other) is None
    for wrong in (None, "", text[:-1], text + "0", text.upper(), f" {text}", "lapwing_", "x" * 10**5):
        assert access.caller(wrong) is None


def test_an_expired_or_revoked_token_is_nobodys(access, monkeypatch):
    one, two, three = (invite(access, "ana", Role.ANALYST, ["visits"], days).text for days in (1, 30, 30))
    access.revoke(number=number_of(two))
    assert [access.caller(each) is None for each in (one, two, three)] == [False, True, False]

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromtimestamp(datetime.now(UTC).timestamp() + 2 * 86400, tz)

    monkeypatch.setattr("lapwing.server.store.datetime", Later)
    assert [access.caller(each) is None for each in (one, two, three)] == [True, True, False]
    assert access.revoke(person="ana") == 2
    assert access.caller(three) is None


def test_all_tokens_that_fail_are_told_the_same(server, folder):
    access = Access(AccessStore(str(folder / "access.sqlite")))
    revoked = access.make_token("ana", 30).text
    access.revoke(number=number_of(revoked))
    expired = access.make_token("ana", 30).text
    with access.store.transaction(write=True) as connection:
        old = sa.update(tokens).where(tokens.c.number == number_of(expired))
        connection.execute(old.values(expires="2020-01-01T00:00:00+00:00"))
    wrong = [revoked, expired, make_token(), "lapwing_x", "", "a" * 5000]
    shapes = [server.get("/api/v1/me", token=each).shape for each in wrong]
    more = {"authorization": f"Basic {server.tokens['ana']}"}
    shapes += [server.get("/api/v1/me", headers=more).shape, server.get("/api/v1/me").shape]
    assert len({str(shape) for shape in shapes}) == 1
    assert shapes[0][0] == 401
    assert server.get("/api/v1/me", "ana").status == 200


def test_T48_every_token_that_fails_takes_the_same_steps(access, monkeypatch):
    access.make_token("ana", 30)
    steps, rows = Counter(), access.store.rows
    monkeypatch.setattr(access.store, "rows", lambda query: steps.update([str(query)]) or rows(query))
    compared = []
    monkeypatch.setattr(module, "is_token", lambda given, stored: compared.append(given) or is_token(given, stored))
    seen = []
    for wrong in ("", "no token", make_token(), f"lapwing_{access.tokens()[0]['number']}_{'0' * 64}"):
        steps.clear()
        compared.clear()
        assert access.caller(wrong) is None
        seen.append((str(steps), len(compared)))
    assert len(set(seen)) == 1


def test_hashes_are_compared_by_the_function_that_takes_constant_time(monkeypatch, frozen_noise):
    called = []
    monkeypatch.setattr("lapwing.server.tokens.hmac.compare_digest", lambda a, b: called.append((a, b)) or a == b)
    token = make_token()
    assert is_token(token, hash_of(token))
    assert not is_token(token, None)
    assert [a for a, _ in called] == [hash_of(token)] * 2


def test_signing_out_revokes_the_token_that_is_used(server):
    assert server.call("DELETE", "/api/v1/me/token", "ana").json == {"changed": 1}
    assert server.get("/api/v1/me", "ana").status == 401
    assert server.get("/api/v1/me", "bob").status == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Token x", "Bearer x y", "bearer\tx"])
def test_headers_without_a_token(header):
    assert from_header(header) is None


def test_a_token_in_an_address_is_recognised(frozen_noise):
    token = make_token()
    assert from_header(f"bearer {token}") == token
    escaped = "".join(f"%{ord(sign):02X}" for sign in token)
    for path, names, query in (
        (f"/x/{token}", [], ""), (f"/{token[:30]}", [], ""), ("/x", ["a"], f"a={escaped}"),
        ("/x", ["token"], "token=1"), ("/x", ["access_token"], ""), ("/x", ["API-KEY"], ""),
        ("/x", ["Authorization"], ""), ("/x", ["key"], ""),
    ):  # fmt: skip
        assert in_address(path, names, query), (path, query)
    assert not in_address("/api/v1/sources/visits/example", ["rows", "head", "record"], "rows=3&head=abc")


@pytest.mark.parametrize("person", ["", "Ana", "ana maria", "ana/..", "../x", "a" * 101, "ana\n", "é", None, "-ana", 3])
def test_names_of_people_are_plain(access, person):
    with pytest.raises(errors.InvalidParameter):
        access.add_role(person, "visits", Role.ANALYST)
    with pytest.raises(errors.InvalidParameter):
        access.make_token(person)
    assert access.roles() == []


def test_roles_fit_what_they_are_for(access):
    with pytest.raises(errors.InvalidParameter):
        access.add_role("ana", "visits", Role.OPERATOR)
    with pytest.raises(errors.InvalidParameter):
        access.add_role("ana", SERVER, Role.OWNER)
    for days in (0, -1, MOST_DAYS + 1, "x", None, 1.5):
        with pytest.raises(errors.RequestError):
            access.make_token("ana", days)


def test_a_record_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "access.sqlite"
    AccessStore(str(file))
    AccessStore(str(file))
    file.chmod(0o640)
    with pytest.raises(errors.AccessError, match="chmod 600"):
        AccessStore(str(file))
    with pytest.raises(errors.AccessError):
        AccessStore(str(tmp_path))
    with pytest.raises(errors.InvalidAddress):
        AccessStore("mysql://user:secret@host/db")


def test_a_record_of_another_version_or_another_file_is_refused(tmp_path):
    store = AccessStore(str(tmp_path / "access.sqlite"))
    with store.transaction(write=True) as connection:
        connection.execute(sa.update(format_table).values(version=99))
    with pytest.raises(errors.AccessError, match="does not know"):
        AccessStore(str(tmp_path / "access.sqlite"))
    other = tmp_path / "other"
    other.write_text("not a database at all, but long enough to be looked at" * 20)
    other.chmod(0o600)
    with pytest.raises(errors.AccessError):
        AccessStore(str(other))


def test_people_and_tokens_in_postgresql(postgres, frozen_noise):
    access = Access(AccessStore(postgres))
    made = invite(access, "ana", Role.ANALYST, ["visits"], 30)
    again = Access(AccessStore(postgres))
    assert again.caller(made.text).roles == {"visits": {Role.ANALYST}}
    assert again.revoke(person="ana") == 1
    assert access.caller(made.text) is None


@pytest.mark.parametrize("days", ["0", "367", "-1"])
def test_an_invitation_with_wrong_days_changes_neither_role_nor_cap(folder, days):
    words = ["access", "invite", "mona", str(folder / "visits.toml"), "--role", "analyst", "--cap", "1"]
    record = folder / "access.sqlite"
    done = CliRunner().invoke(main, [*words, "--access", str(record), "--days", days])
    assert done.exit_code != 0
    assert "days" in done.output
    access = Access(AccessStore(str(record)))
    assert not access.has_role("mona")
    assert "mona" not in {each.analyst for each in Source.open(folder / "visits.toml").open_ledger().analysts()}
    with pytest.raises(errors.InvalidParameter, match="days"):
        invite(access, "mona", Role.ANALYST, ["visits"], int(days))
    assert not access.has_role("mona")
