"""What people do on a server from a terminal, against a real one: the same words as beside the table."""

import json
import shlex
import threading
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.cli.main import main
from lapwing.cli.remote import ASKS, CANNOT_ASK
from lapwing.client.link import Link
from lapwing.engine.table import Table
from lapwing.server.access import Access, invite
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore
from lapwing.source import Source

from ...test_pages import BLOCK, ROOT, fits
from ..cli.test_main import run
from .conftest import ASKED

NOTHING_HERE = "lapwing: There is nothing here that you may use. Nothing was read and nothing was charged.\n"


@pytest.fixture
def terminal(live, monkeypatch):
    """A function that starts a server, and returns one that runs a command there for a person."""

    def begin(**more):
        connect = live(**more)

        def asked(who, *words, status=0):
            link = connect(who)._link
            monkeypatch.setenv("LAPWING_TOKEN", link._token)
            return run("--server", link.url, *words, status=status)

        asked.connect = connect
        return asked

    return begin


def as_json(done):
    return json.loads(done.stdout)


def words(text):
    return " ".join(text.split())


# --- what there is ---


def test_sources_are_those_of_a_person_with_role_and_what_is_left(terminal):
    at = terminal()
    at("ana", "release", "visits", ASKED, "--epsilon", "0.5")
    (mine,) = as_json(at("ana", "sources", "--format", "json"))["sources"]
    assert (mine["name"], mine["roles"]) == ("visits", ["analyst"])
    assert (mine["mine"]["remaining"], mine["epsilon"]["remaining"], mine["delta"]["total"]) == ("1.5", "3.5", "0")
    shown = words(at("ana", "sources").stdout)
    assert "visits analyst 1.5 of 2 3.5 of 4" in shown
    assert "secrets" not in shown
    assert "visits auditor no cap 3.5 of 4" in words(at("audrey", "sources").stdout)
    assert "no source that you may use" in at("oscar", "sources").stdout
    assert as_json(at("oscar", "sources", "--format", "json")) == {"sources": []}


def test_a_source_is_described_by_what_is_public(terminal, folder):
    file = folder / "visits.toml"
    file.write_text(
        file.read_text().replace("[columns.cost]", '[columns.cost]\ntitle = "Cost of a visit"\nunit = "euro"').replace(
            'keys = ["north", "south"]', 'keys = ["north", "south"]\nlabels = ["The north", "The [bold]south"]'
        )
    )  # fmt: skip
    at, here = terminal(), Source.open(file)
    told = as_json(at("ana", "sources", "visits", "--example", "3", "--format", "json"))
    assert told.pop("example") == here.example(3)
    assert told.pop("budget")["mine"]["remaining"] == "2"
    assert told == {**here.describe(), "engine": "duckdb"}
    assert told == at.connect("ana")["visits"].describe()
    shown = words(at("ana", "sources", "visits").stdout)
    for each in (
        "visits protects each person (patient), who counts as at most 1 row", "number from 0 to 100 euro",
        "Cost of a visit", "north (The north), south (The [bold]south); others: elsewhere",
        "whole number from 0 to 120", "add_remove", "2 of 2 is left of your cap, and 4 of 4 of the total",
    ):  # fmt: skip
        assert each in shown
    assert "Invented" not in shown
    assert "You have no cap" in at("audrey", "sources", "visits").stdout
    rows = at("ana", "sources", "visits", "--example", "3").stdout.partition("Invented rows")[2]
    assert rows.count("person ") == 3
    assert Source.open(file).ledger.spent == 0


def test_a_column_with_many_keys_is_shown_in_part(terminal, folder):
    file = folder / "visits.toml"
    many = json.dumps([f"key {i}" for i in range(2000)])
    file.write_text(file.read_text().replace('["north", "south"]', many))
    at = terminal()
    shown = words(at("ana", "sources", "visits").stdout)
    assert "key 19, … 1,980 more: see --format json" in shown
    assert len(as_json(at("ana", "sources", "visits", "--format", "json"))["columns"]["ward"]["keys"]) == 2000


def test_a_wrong_number_of_invented_rows_is_refused(terminal):
    at = terminal()
    for wrong in ("0", "-1", "100000000"):
        assert "rows" in at("ana", "sources", "visits", "--example", wrong, status=2).stderr
    assert "give its NAME" in at("ana", "sources", "--example", "3", status=2).stderr


def test_history_is_what_one_was_charged_for(terminal):
    at = terminal()
    at("ana", "release", "visits", ASKED, "--epsilon", "0.5")
    at("bob", "release", "visits", "SELECT COUNT(*) FROM visits", "--epsilon", "0.25")
    told = as_json(at("ana", "history", "visits", "--format", "json"))
    history = at.connect("ana")["visits"].history()
    assert told == {"source": "visits", "entries": [each.to_dict() for each in history]}
    assert [each["epsilon"] for each in told["entries"]] == ["0.5"]
    shown = words(at("ana", "history", "visits").stdout)
    assert 'COUNT(*) FROM "visits" GROUP BY "ward" 0.5 yes' in shown
    assert "1.5 of 2 is left of your cap, and 3.25 of 4 of the total" in shown


# --- what is recorded ---


QUESTIONS = [
    (ASKED, ()),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", ()),
    ("SELECT MEDIAN(age) AS middle FROM visits WHERE age > 20", ("--no-intervals",)),
    ("SELECT SUM(cost) / COUNT(*) AS per_visit FROM visits", ()),
]


@pytest.fixture
def asked_for(terminal):
    """A server where ana has asked the questions, and the entries of their answers."""
    at = terminal()
    for sql, more in QUESTIONS:
        at("ana", "release", "visits", sql, "--epsilon", "0.1", *more)
    return at, [each["entry"] for each in as_json(at("ana", "history", "visits", "--format", "json"))["entries"]]


def test_explain_is_that_of_the_source_file(asked_for, folder):
    at, entries = asked_for
    file = str(folder / "visits.toml")
    assert len(entries) == len(QUESTIONS)
    for entry in map(str, entries):
        there = at("ana", "explain", "visits", entry, "--confidence", "0.8").stdout
        here = run("explain", file, entry, "--confidence", "0.8").stdout
        assert there.partition("ε left")[0] == here.partition("ε left")[0]
        assert "3. Charged     ε = 0.1, entry" in there
        one, two = (
            as_json(done) for done in (
                at("audrey", "explain", "visits", entry, "--format", "json"),
                run("explain", file, entry, "--format", "json"),
            )
        )  # fmt: skip
        assert one == two


def test_charts_are_those_of_the_source_file(asked_for, folder, tmp_path):
    at, entries = asked_for
    file, charts = str(folder / "visits.toml"), [tmp_path / "there.vl.json", tmp_path / "here.vl.json"]
    options = ("--statistic", "n", "--kind", "bars", "--theme", "dark", "--width", "300", "--confidence", "0.8")
    for words in (
        ("plot", "{}", str(entries[0]), *options),
        ("plot", "{}", str(entries[0]), "--difference", "ward=north,south", "--simultaneous"),
        ("plot", "{}", str(entries[1]), "--table", "ward"),
        ("plot", "{}", "--ledger", "--width", "300"),
    ):
        there, here = ([word.format(name) for word in words] for name in ("visits", file))
        done = at("olga", *there, "--output", str(charts[0]), "--force")
        assert "Nothing was charged" in done.stderr
        run(*here, "--output", str(charts[1]), "--force")
        assert json.loads(charts[0].read_text()) == json.loads(charts[1].read_text()), words
    picture = tmp_path / "a.svg"
    at("ana", "plot", "visits", str(entries[0]), "--output", str(picture))
    assert "north" in picture.read_text()
    assert "exists" in at("ana", "plot", "visits", str(entries[0]), "--output", str(picture), status=2).stderr
    refused = at("ana", "plot", "visits", str(entries[1]), "--output", str(tmp_path / "b.svg"), status=2)
    assert f'lapwing plot visits {entries[1]} --table "' in refused.stderr
    assert at("ana", "plot", "visits", "--ledger", "--output", str(tmp_path / "b.svg"), status=2).stderr == NOTHING_HERE
    assert not (tmp_path / "b.svg").exists()


def test_packages_are_those_of_the_source_file(asked_for, folder, tmp_path):
    at, entries = asked_for
    file, entry = str(folder / "visits.toml"), str(entries[0])
    for more in (("--suppress", "--confidence", "0.8"), ("--share",)):
        there, here = tmp_path / f"there {len(more)}", tmp_path / f"here {len(more)}"
        told = as_json(at("ana", "package", "visits", entry, "--to", str(there), *more, "--format", "json"))
        run("package", file, entry, "--to", str(here), *more)
        assert sorted(each.name for each in there.iterdir()) == sorted(told["files"])
        assert (there / "data.csv").read_text() == (here / "data.csv").read_text()
    assert "is not empty" in at("ana", "package", "visits", entry, "--to", str(there), status=2).stderr
    assert at.connect("ana")["visits"].ledger.spent == Fraction(4, 10)


def test_the_ledger_is_shown_to_owners_and_auditors_as_the_file_shows_it(asked_for, folder):
    at, _ = asked_for
    file = str(folder / "visits.toml")
    at("ana", "request", "visits", "--cap", "3", "--reason", "More.")
    for who, *more in (
        ("olga",), ("audrey", "show"), ("olga", "verify"), ("olga", "head"), ("audrey", "analysts"),
        ("olga", "requests"),
    ):  # fmt: skip
        there, here = (*("ledger", "visits"), *more), (*("ledger", file), *more)
        one, two = as_json(at(who, *there, "--format", "json")), as_json(run(*here, "--format", "json"))
        assert {**one, "ledger": ""} == {**two, "ledger": ""}, more
        shown, expected = at(who, *there).stdout.splitlines(), run(*here).stdout.splitlines()
        assert shown[1:] == expected[1:]
        assert shown[0].partition("   ε: ")[2] == expected[0].partition("   ε: ")[2]
    head = at("audrey", "ledger", "visits", "head").stdout.strip()
    assert "and the head is among them" in at("audrey", "ledger", "visits", "verify", "--head", head).stdout
    said = at("audrey", "ledger", "visits", "verify", "--head", "0" * 64, status=1).stderr
    assert "rolled back or rewritten" in said
    assert str(folder) not in said
    assert "visits   ε: 3.6 left of 4" in at("olga", "ledger", "visits", "--format", "table").stdout


def test_an_analyst_sees_the_head_and_no_entries_of_others(asked_for):
    at, entries = asked_for
    for more in ((), ("show",), ("verify",), ("analysts",), ("requests", "grant", "1"), ("requests", "decline", "1")):
        assert at("bob", "ledger", "visits", *more, status=2).stderr == NOTHING_HERE, more
    assert len(at("bob", "ledger", "visits", "head").stdout.strip()) == 64
    assert as_json(at("bob", "ledger", "visits", "requests", "--format", "json")) == {"requests": []}
    for command in (("explain",), ("plot", "--output", "x.svg"), ("package", "--to", "x")):
        for name, entry in (
            ("visits", entries[0]),
            ("visits", 1),
            ("visits", 99),
            ("visits", 0),
            ("secrets", 2),
            ("no", 2),
        ):
            done = at("bob", command[0], name, str(entry), *command[1:], status=2)
            assert (done.stdout, done.stderr) == ("", NOTHING_HERE), (command, name, entry)


def test_an_owner_decides_requests_from_a_terminal(terminal, folder):
    at, file = terminal(), str(folder / "visits.toml")
    asked = ("request", "visits", "--cap", "3", "--reason", "More.", "--format", "json")
    first, second = (str(as_json(at(who, *asked))["requests"][0]["request"]) for who in ("ana", "bob"))
    granted = at("olga", "ledger", "visits", "requests", "grant", first, "--cap", "2.5", "--note", "until May")
    assert "cap of ana is now 2.5 (until May)" in granted.stdout
    declined = as_json(at("olga", "ledger", "visits", "requests", "decline", second, "--format", "json"))
    assert (declined["kind"], declined["analyst"], declined["charge"]) == ("decline", "bob", int(second))
    assert declined == Source.open(file).ledger.entries()[-1].to_dict()
    assert at("olga", "ledger", "visits", "requests", "grant", second, status=2).stderr


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("create", "--epsilon", "1"), "made, copied and put back"),
        (("backup", "x"), "made, copied and put back"),
        (("restore", "x"), "made, copied and put back"),
        (("total", "9"), "the owner sets caps and the total"),
        (("analysts", "add", "eve", "--cap", "1"), "the owner sets caps and the total"),
        (("analysts", "cap", "ana", "9"), "the owner sets caps and the total"),
    ],
)
def test_what_is_done_to_a_ledger_where_it_is_cannot_ask_a_server(more, why):
    said = words(run("--server", "https://stats.example", "ledger", "visits", *more, status=2).stderr)
    name = more[0] if more[0] != "analysts" else more[1]
    assert f"`lapwing ledger {name}` cannot ask a server: " in said
    assert why in said


def test_keys_and_bounds_that_an_owner_found_are_explained_where_the_file_is(terminal, folder):
    source = Source.open(folder / "visits.toml")
    source.ledger.set_total(4, "0.01")
    found = [
        source.bounds("cost", epsilon="0.5"), source.discover("ward", epsilon="0.5", delta="0.001"),
        source.rows_per_person(epsilon="0.5"),
    ]  # fmt: skip
    at = terminal()
    for each in found:
        said = at("olga", "explain", "visits", str(each.entry), status=2).stderr
        assert f"Entry {each.entry} found keys or bounds" in said
        assert "`lapwing explain`" in said
        assert at("ana", "explain", "visits", str(each.entry), status=2).stderr == NOTHING_HERE


# --- what is not there, or not allowed, or odd ---


def test_what_is_not_there_and_what_is_not_yours_are_refused_alike(terminal):
    at = terminal()
    for command in ("sources", "history"):
        for name in ("secrets", "none", "../me", "visits/ledger", "a b", "größe", "%2e", "?x=1#y", ""):
            done = at("ana", command, name, status=2)
            assert (done.stdout, done.stderr) == ("", NOTHING_HERE), (command, name)
    assert at("audrey", "history", "visits", status=2).stderr == NOTHING_HERE
    told = json.loads(at("ana", "sources", "none", "--format", "json", status=2).stderr)
    assert told == {"error": "NotAllowed", "message": NOTHING_HERE[9:-1]}


def test_a_token_that_is_none_is_refused(terminal, monkeypatch):
    at = terminal()
    monkeypatch.setenv("LAPWING_TOKEN", "lapwing_x")
    done = run("--server", at.connect("ana")._link.url, "sources", status=2)
    assert done.stderr == "lapwing: A valid token is needed. Nothing was read and nothing was charged.\n"


def test_a_token_that_ends_while_a_question_is_computed_is_no_refusal_at_no_charge(terminal, monkeypatch, folder):
    tally = Table.tally

    def slow(*given, **named):
        access = Access(AccessStore(str(folder / "access.sqlite")))
        access.revoke(person="ana")
        threading.Event().wait(2.5)
        return tally(*given, **named)

    monkeypatch.setattr(Table, "tally", slow)
    at = terminal(seconds=1)
    said = at("ana", "release", "visits", ASKED, "--epsilon", "0.5", status=1).stderr
    assert "ended while the question was computed. What was charged stays charged." in said
    assert Source.open(folder / "visits.toml").ledger.spent == Fraction(1, 2)


def test_names_with_odd_characters_work(terminal, folder):
    access = Access(AccessStore(str(folder / "access.sqlite")))
    names, files = ["größe", "my visits", "50%25", 'o\'neill "x" [red]', "x?y#z", "=1+1"], []
    for i, name in enumerate(names):
        table, file = f"odd{i}.csv", folder / f"odd{i}.toml"
        (folder / table).write_bytes((folder / "visits.csv").read_bytes())
        text = (folder / "visits.toml").read_text().replace('"visits"', json.dumps(name)).replace("visits.csv", table)
        file.write_text(text)
        Source.open(file).make_ledger().add_analyst("ana", 2)
        invite(access, "ana", Role.ANALYST, [name], 30)
        files.append(str(file))
    at = terminal(sources=files)
    listed = words(at("ana", "sources").stdout)
    for name in names:
        assert f"{name} analyst 2 of 2 4 of 4" in listed
        assert at("ana", "sources", name).stdout.startswith(f"{name}   protects")
        assert as_json(at("ana", "history", name, "--format", "json")) == {"source": name, "entries": []}


def test_a_folder_with_the_name_of_a_source_is_not_in_its_way(terminal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").mkdir()
    at = terminal()
    assert "ε left: 2" in at("ana", "plan", "visits", ASKED, "--epsilon", "0.5").stdout
    assert "is a directory" in run("plan", "visits", ASKED, "--epsilon", "0.5", status=2).stderr


def test_a_source_whose_ledger_cannot_be_used_is_listed_without_budget(terminal, monkeypatch):
    at = terminal()
    get = Link.get

    def damaged(link, *path, **query):
        if path[-1] == "budget":
            raise lw.errors.LedgerError("visits", "is damaged", "Ask the owner.")
        return get(link, *path, **query)

    monkeypatch.setattr(Link, "get", damaged)
    assert "visits analyst cannot be used now" in words(at("ana", "sources").stdout)
    assert as_json(at("ana", "sources", "--format", "json"))["sources"][0]["epsilon"] is None


def test_what_a_server_sends_does_no_harm_in_a_terminal(terminal, monkeypatch):
    at = terminal()
    get, ugly = Link.get, "\x1b[31mred\x9b"

    def odd(link, *path, **query):
        told = get(link, *path, **query)
        if path[-1] == "example":
            told["columns"] = {ugly: [ugly, {ugly: 1}, None]}
        elif path == ("sources",):
            told["sources"][0]["name"] = ugly
        return told

    monkeypatch.setattr(Link, "get", odd)
    done = at("ana", "sources", "visits", "--example", "3")
    assert all(sign.isprintable() or sign == "\n" for sign in done.stdout)
    assert "cannot be read" in at("ana", "sources", status=1).stderr


# --- commands that cannot ask a server ---


def test_every_command_asks_a_server_or_says_why_it_cannot():
    assert {*ASKS, *CANNOT_ASK} == set(main.commands)
    assert not {*ASKS} & {*CANNOT_ASK}
    for command, why in CANNOT_ASK.items():
        said = words(run("--server", "https://stats.example", command, "x", status=2).stderr)
        assert f"`lapwing {command}` cannot ask a server: {why}" in said


def test_without_a_server_the_commands_say_what_to_do():
    assert "lapwing --server URL sources" in run("sources", status=2).stderr
    assert "lapwing --server URL history NAME" in words(run("history", "visits", status=2).stderr)


# --- the page ---


def test_the_page_shows_what_is_printed_from_the_first_look_to_a_picture(terminal, tmp_path, monkeypatch):
    """The source is that of the page for owners; ana asks, and audrey sees the ledger."""
    monkeypatch.chdir(tmp_path)
    pages = {name: (ROOT / "docs" / "how-to" / f"{name}.md").read_text() for name in ("serve", "ask-a-server")}
    exec(next(text for language, text, _ in BLOCK.findall(pages["serve"]) if language == "python"), {})
    Source.open("visits.toml").make_ledger().add_analyst("ana", 1)
    at = terminal(sources=["visits.toml"])
    part = pages["ask-a-server"].partition("## Terminal\n")[2].partition("\n## ")[0]
    ran = []
    for _, block, _ in BLOCK.findall(part):
        for line in ("\n" + block).split("\n$ ")[1:]:
            command, _, shown = line.partition("\n")
            start, *rest = command.partition("--server https://stats.example ")[::2]
            assert start == "lapwing "
            (words,) = map(shlex.split, rest)
            printed = at("audrey" if words[0] == "ledger" else "ana", *words).output
            assert fits(shown, printed), f"the page shows\n{shown}\nafter {command}, which prints\n{printed}"
            ran.append(words[0])
    assert set(ran) == {*ASKS} - {"request", "sign-in", "sign-out"}
    assert (tmp_path / "wards.svg").read_text().startswith("<svg")
    assert (tmp_path / "wards" / "data.csv").exists()
