"""The commands serve and access."""

import json
import sys

import pytest

from lapwing.ledger.ledger import Ledger
from lapwing.server.access import Access
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore

from ..server.conftest import write_source
from .test_main import run

pytestmark = pytest.mark.usefixtures("frozen_noise")


@pytest.fixture
def visits(tmp_path):
    return str(write_source(tmp_path, "visits"))


@pytest.fixture
def record(tmp_path):
    return ("--access", str(tmp_path / "access.sqlite"))


def test_an_analyst_is_invited_listed_and_revoked(visits, record, tmp_path):
    done = run("access", "invite", "ana", visits, "--role", "analyst", "--cap", "1.5", *record)
    token = done.stdout.strip()
    assert "ana is analyst of visits.  The token is shown only now" in done.stderr
    access = Access(AccessStore(record[1]))
    assert access.caller(token).roles == {"visits": {Role.ANALYST}}
    assert Ledger.open(tmp_path / "visits.ledger").budget("ana").total * 2 == 3
    listed = run("access", "list", *record).stdout
    assert "ana" in listed
    assert token not in listed
    assert "valid" in listed
    told = json.loads(run("access", "list", *record, "--format", "json").stdout)
    assert told["tokens"][0]["sources"] == ["visits"]
    assert run("access", "revoke", "ana", *record).stdout == "Revoked 1 tokens and took 1 roles of ana.\n"
    assert access.caller(token) is None
    assert "revoked" in run("access", "list", *record).stdout


def test_one_token_is_revoked_and_the_other_stays(visits, record):
    words = ("access", "invite", "olga", visits, "--role", "owner", *record, "--format", "json")
    one, two = (json.loads(run(*words).stdout) for _ in range(2))
    run("access", "revoke", "olga", "--token", one["number"], *record)
    access = Access(AccessStore(record[1]))
    assert access.caller(one["token"]) is None
    assert access.caller(two["token"]).person == "olga"
    assert "no token of this number" in run("access", "revoke", "olga", "--token", "0", *record, status=2).stderr


def test_somebody_who_signs_in_elsewhere_has_a_role_and_no_token(visits, record):
    words = ("access", "invite", "ana@example.org", visits, "--role", "analyst", "--cap", "1", "--no-token", *record)
    assert run(*words).stdout == "ana@example.org is analyst of visits, and has no token.\n"
    told = {"person": "ana@example.org", "role": "analyst", "sources": ["visits"]}
    assert json.loads(run(*words, "--format", "json").stdout) == told
    access = Access(AccessStore(record[1]))
    assert access.tokens() == []
    assert access.roles() == [{**access.roles()[0], "person": "ana@example.org", "source": "visits", "role": "analyst"}]


def test_an_operator_has_no_source(record):
    told = json.loads(run("access", "invite", "oscar", "--role", "operator", *record, "--format", "json").stdout)
    assert Access(AccessStore(record[1])).caller(told["token"]).roles == {"": {Role.OPERATOR}}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ana", "--role", "analyst"), "Name the SOURCEs"),
        (("oscar", "{}", "--role", "operator"), "Name the SOURCEs"),
        (("ana", "{}", "--role", "analyst"), "--cap 1"),
        (("Ana", "{}", "--role", "owner"), "small letters"),
        (("ana", "{}", "--role", "owner", "--days", "9999"), "days"),
        (("ana", "{}", "--role", "owner", "--cap", "x"), "ε"),
    ],
)
def test_what_does_not_fit_is_refused_and_makes_no_token(visits, record, words, said):
    done = run("access", "invite", *(word.format(visits) for word in words), *record, status=2)
    assert said in done.stderr
    assert Access(AccessStore(record[1])).tokens() == []


def test_the_record_of_people_is_named_by_the_settings_too(visits, tmp_path, monkeypatch):
    (tmp_path / "serve.toml").write_text('access = "people.sqlite"\n')
    run("access", "invite", "olga", visits, "--role", "owner", "--config", str(tmp_path / "serve.toml"))
    assert (tmp_path / "people.sqlite").exists()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    run("access", "invite", "olga", visits, "--role", "owner")
    assert (tmp_path / "home" / "lapwing" / "access.sqlite").exists()


def test_serve_refuses_what_is_unsafe(visits, record):
    assert "unencrypted" in run("serve", visits, "--host", "0.0.0.0", *record, status=2).stderr
    assert "sources" in run("serve", *record, status=2).stderr
    assert "TLS needs both" in run("serve", visits, "--key", "k.pem", *record, status=2).stderr
    assert "does not exist" in run("serve", "nosuch.toml", *record, status=2).stderr


def test_without_the_libraries_of_the_server_it_is_said_what_to_install(visits, record, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("lapwing.server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "pip install '.[server]'" in run("serve", visits, *record, status=2).stderr
