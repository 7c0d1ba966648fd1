"""The client: the same plans and releases as beside the table, over a real connection; tokens from safe places only."""

import json
import os
import threading
from fractions import Fraction

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.client import answers
from lapwing.client.link import Link, Told
from lapwing.client.remote import RemoteSource
from lapwing.client.token_file import found_token
from lapwing.source import Source

from ..cli.test_main import run
from .conftest import ASKED

CALLS = [
    ((lw.count(name="n"), lw.mean("cost")), {"by": "ward"}),
    ((ASKED + " ORDER BY n DESC LIMIT 2",), {}),
    ((lw.sum("cost", share=3), lw.sum("age")), {"where": "age >= 30", "confidence": 0.8}),
    ((lw.count(),), {"by": lw.cube("ward"), "weights": {("ward",): 4, (): 1}}),
    ((lw.quantile("age", [0.25, 0.5]),), {"intervals": False}),
    ((lw.ratio(lw.sum("cost"), lw.count(), factor=100),), {"by": "ward"}),
    ((lw.histogram("age", [0, 18, 65, 120]),), {}),
]


def test_plans_and_releases_are_those_of_the_source(live, folder):
    ana, here = live()("ana")["visits"], Source.open(folder / "visits.toml")
    assert isinstance(ana, RemoteSource)
    for place, (statistics, named) in enumerate(CALLS):
        epsilon = Fraction(place + 1, 100)
        assert (
            ana.plan(*statistics, **named, epsilon=epsilon).to_dict()
            == here.plan(*statistics, **named, epsilon=epsilon).to_dict()
        )
        there = ana.release(*statistics, **named, epsilon=epsilon)
        mine = here.release(*statistics, **named, epsilon=epsilon)
        assert isinstance(there, lw.Release)
        assert (there.repeated, mine.repeated) == (False, True)
        passing = {"repeated": None, "remaining": None}
        one, two = ({**each.to_dict(), **passing} for each in (there, mine))
        assert one == two
        assert mine.remaining - there.remaining == 2  # of the total, and of the cap of ana
        assert ana.left() == there.remaining
        assert (there.analyst, there.head, there.budget) == ("ana", mine.head, mine.budget)
        again = ana.release(*statistics, **named, epsilon=epsilon)
        assert again.repeated
        assert {**again.to_dict(), **passing} == two


def test_what_is_done_with_a_release_afterwards_works_here(live):
    ana = live()("ana")["visits"]
    answer = ana.sql(ASKED, epsilon="0.5")
    spent = ana.ledger.spent
    assert answer.at(0.5)["n"].high[0] < answer["n"].high[0]
    assert answer.difference(by="ward", of="north", to="south").rows
    assert answer.to_pandas().shape[0] == 3
    assert "north" in answer.to_html()
    assert answer.plot().to_dict()["$schema"]
    assert answer.to_csv().startswith("ward,n,")
    assert ana.ledger.spent == spent == Fraction(1, 2)


def test_a_part_of_tables_that_were_released_is_shown_here_too(live, folder):
    ana = live()("ana")["visits"]
    whole = ana.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", epsilon="0.5")
    part = ana.sql("SELECT COUNT(*) FROM visits", epsilon="0.1")
    assert (part.entry, part.repeated) == (whole.entry, True)
    mine = Source.open(folder / "visits.toml").sql("SELECT COUNT(*) FROM visits", epsilon="0.1")
    assert {**part.to_dict(), "remaining": None} == {**mine.to_dict(), "remaining": None}


def test_releases_of_a_server_are_combined_as_those_beside_the_table(live, folder):
    ana, here = live()("ana")["visits"], Source.open(folder / "visits.toml")
    asked = [({"by": "ward"}, "0.25"), ({"by": lw.cube("ward")}, "0.5")]
    there, mine = ([each.release(lw.count(), **named, epsilon=cost) for named, cost in asked] for each in (ana, here))
    one, two = (second.combined(first).to_dict() for first, second in (there, mine))
    passing = {"repeated": None, "remaining": None}
    assert {**one, **passing} == {**two, **passing}
    assert one["combined"] == [each.entry for each in there]
    with pytest.raises(errors.InvalidRequest, match="would be counted twice"):
        there[0].combined(mine[0])


def test_a_number_of_rows_that_is_public_costs_nothing(live, folder):
    pd.DataFrame({"cost": [1.0, 2.0, 3.0]}).to_parquet(folder / "visits.parquet")
    (folder / "visits.ledger").unlink()
    (folder / "visits.toml").write_text(
        'name = "visits"\ntable = "visits.parquet"\nneighbors = "change_one"\nepsilon = 1\n'
        "[columns.cost]\nlow = 0\nhigh = 9\n"
    )
    ana = live()("ana")["visits"]
    answer = ana.release(lw.count(), epsilon=1)
    assert (answer.rows[0]["count"]["value"], answer.entry, answer.budget) == (3, None, None)
    assert ana.ledger.spent == 0
    server = ana._link
    body = {"statistics": [{"statistic": "count"}], "epsilon": "1"}
    job = server.post("sources", "visits", "jobs", body=body)
    assert ana._waited(job)["rows"] == json.loads(json.dumps(answer.rows))


def test_history_budget_and_ledger(live):
    connect = live()
    ana, audrey = connect("ana")["visits"], connect("audrey")["visits"]
    answer = ana.sql(ASKED, epsilon="0.5")
    assert [(each.number, each.epsilon) for each in ana.history()] == [(answer.entry, Fraction(1, 2))]
    assert ana.recall(answer.entry).rows == answer.rows
    assert (ana.left(), ana.ledger.remaining, ana.ledger.total) == (Fraction(3, 2), Fraction(7, 2), 4)
    assert [each.kind for each in audrey.ledger.entries()][-2:] == ["charge", "answer"]
    head = audrey.ledger.head
    assert audrey.ledger.verify(head) == 6
    with pytest.raises(lw.errors.LedgerError):
        audrey.ledger.verify("0" * 64)
    with pytest.raises(lw.errors.NotAllowed):
        ana.ledger.entries()
    assert ana.example(3) == audrey.example(3)
    assert connect("ana").sources == ["visits"]
    assert list(connect("oscar")) == []
    assert connect("ana").me["person"] == "ana"


def test_history_and_entries_are_everything_page_by_page(live, folder, monkeypatch):
    server = live()
    ana, audrey = server("ana")["visits"], server("audrey")["visits"]
    for place in range(1, 8):
        ana.release(lw.count(), where=f"age >= {place}", epsilon="0.01")
    kept = lw.Ledger.open(folder / "visits.ledger").entries()
    asked = []
    get = Link.get
    monkeypatch.setattr(Link, "get", lambda link, *path, **query: asked.append(query) or get(link, *path, **query))
    for most, pages in ((1000, 1), (3, 3), (7, 1), (1, 7)):
        monkeypatch.setattr(answers, "MOST", most)
        asked.clear()
        assert [each.number for each in ana.history()] == [each.number for each in kept if each.kind == "charge"]
        assert len(asked) == pages
        assert [(each.number, each.hash, each.answered) for each in audrey.ledger.entries()] == [
            (each.number, each.hash, each.answered) for each in kept
        ]


def page(*numbers, before=None):
    """Return a page of entries, as a server sends it."""
    return {"entries": [{"entry": number} for number in numbers], "before": before}


@pytest.mark.parametrize(
    "pages",
    [
        [page(5, 6, before=5), page(5, 6, before=5)],
        [page(5, 6, before=5), page(6, 7, before=6)],
        [page(5, 6, before=5), page(3, 4, before="3")],
        [page(5, 6, before=True)],
        [page(5, 6, before=5.0)],
        [page(0, 1, before=0)],
        [page(-1, 1, before=-1)],
        [page(before=10**18), page(before=10**18 - 1)],
        [page(6, before=6)],
        [page(5, 6, before=4)],
        [page(6, 5, before=6)],
        [page(5, 5, before=5)],
        [page(5, 6, before=5), page(4, 5)],
        [{"entries": {"entry": 5}, "before": None}],
    ],
)
def test_a_server_whose_pages_never_end_or_do_not_follow_is_refused(live, monkeypatch, pages):
    ana, told = live()("ana")["visits"], iter(pages)
    monkeypatch.setattr(answers, "MOST", 2)
    monkeypatch.setattr(Link, "get", lambda *path, **query: Told(next(told)))
    with pytest.raises(lw.errors.ServerError, match=r"^The server's answer cannot be read\."):
        ana.history()


def test_a_list_that_is_too_long_is_refused(live, monkeypatch):
    ana = live()("ana")["visits"]
    monkeypatch.setattr(answers, "MOST", 2)
    monkeypatch.setattr(answers, "MOST_LISTED", 10)
    end = iter(range(10**6, 0, -2))
    monkeypatch.setattr(Link, "get", lambda *path, **query: Told(page((last := next(end)) - 1, last, before=last - 1)))
    with pytest.raises(lw.errors.ServerError, match=r"^The server lists more than 10 entries\."):
        ana.history()


def test_errors_are_those_of_the_library_with_the_same_text(live, folder):
    ana = live()("ana")["visits"]
    with pytest.raises(lw.errors.BudgetExceeded, match="has 2 left of 2"):
        ana.sql(ASKED, epsilon=3)
    with pytest.raises(lw.errors.UnknownColumn) as there:
        ana.sql("SELECT AVG(weight) FROM visits", epsilon=1)
    with pytest.raises(lw.errors.UnknownColumn) as here:
        Source.open(folder / "visits.toml").sql("SELECT AVG(weight) FROM visits", epsilon=1)
    assert str(there.value) == str(here.value)
    with pytest.raises(lw.errors.UnknownArgument):
        ana.plan(lw.count(), epsilon=1, groupby="ward")
    with pytest.raises(lw.errors.InvalidParameter):
        ana.example(0)
    assert ana.ledger.spent == 0


def test_someone_unknown_and_something_unknown(live, folder):
    connect = live()
    with pytest.raises(lw.errors.NotAllowed) as other:
        connect("ana")["secrets"]
    with pytest.raises(lw.errors.NotAllowed) as none:
        connect("ana")["../me"]
    assert str(other.value) == str(none.value)
    url = connect("ana")._link.url
    with pytest.raises(lw.errors.NotSignedIn):
        lw.connect(url, "lapwing_x").sources  # noqa: B018
    with pytest.raises(lw.errors.NotAllowed):
        connect("ana")[""]


def test_a_question_that_takes_long_is_waited_for(live, monkeypatch):
    from lapwing.engine.table import Table

    tally = Table.tally

    def slow(*given, **named):
        threading.Event().wait(1.5)
        return tally(*given, **named)

    monkeypatch.setattr(Table, "tally", slow)
    answer = live(seconds=1)("ana")["visits"].sql(ASKED, epsilon="0.5")
    assert len(answer) == 3


def test_a_plan_of_another_version_is_refused(live, monkeypatch):
    ana = live()("ana")["visits"]
    post = Link.post
    monkeypatch.setattr(Link, "post", lambda *a, **n: {**post(*a, **n), "groups": 99})
    with pytest.raises(lw.errors.ServerError, match="differs from this client's"):
        ana.plan(ASKED, epsilon=1)


# --- addresses and tokens ---


@pytest.mark.parametrize(
    "url",
    [
        "http://stats.example", "ftp://x", "stats.example", "https://user:pass@x", "https://x?token=1", 3, "file:///x",
        "http://[::1", "https://x:abc", "https://x:99999", "https://x\\y",
        "https://x/\r\nX: y", "https://x/ü", "https://x y",
    ],
)  # fmt: skip
def test_addresses_that_would_show_the_token_or_are_none_are_refused(url):
    with pytest.raises(lw.errors.InvalidRequest):
        lw.connect(url, "lapwing_x")


def test_a_token_comes_from_safe_places_only(tmp_path, monkeypatch):
    monkeypatch.delenv("LAPWING_TOKEN", raising=False)
    with pytest.raises(lw.errors.MissingParameter):
        lw.connect("https://stats.example")
    monkeypatch.setenv("LAPWING_TOKEN", "lapwing_e")
    assert found_token(None, None) == "lapwing_e"
    assert found_token("lapwing_a", None) == "lapwing_a"
    file = tmp_path / "token"
    file.write_text("lapwing_f\n")
    file.chmod(0o600)
    assert found_token(None, file) == "lapwing_f"
    for mode in (0o640, 0o604, 0o622):
        file.chmod(mode)
        with pytest.raises(lw.errors.InvalidRequest, match="can be read by others"):
            found_token(None, file)
    for wrong in ({"token": "a", "token_file": file}, {"token": None, "token_file": tmp_path / "no"}):
        with pytest.raises(lw.errors.InvalidRequest):
            found_token(**wrong)
    for token in ("two words", "line\nbreak", "ü", "x" * 2000):
        with pytest.raises(lw.errors.InvalidRequest):
            found_token(token, None)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(lw.errors.InvalidRequest, match="cannot be read"):  # and nobody waits for it
        found_token(None, pipe)
    assert "secret" not in repr(Link("https://stats.example", "lapwing_secret", 5, None))


def test_certificates_that_cannot_be_read_are_refused_in_our_words(tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate\n")
    for file in (tmp_path / "no.pem", tmp_path, empty, "a\0b"):
        with pytest.raises(lw.errors.InvalidRequest, match="The file of certificates cannot be read"):
            lw.connect("https://stats.example", "lapwing_x", certificates=str(file))


# --- the commands ---


def test_commands_ask_a_server_as_they_ask_a_file(live, folder, monkeypatch):
    url = live()("ana")._link.url
    tokens = json.loads((folder / "tokens.json").read_text())
    monkeypatch.setenv("LAPWING_TOKEN", tokens["ana"])
    file = str(folder / "visits.toml")
    for words in (
        ("plan", "{}", ASKED, "--epsilon", "0.5", "--format", "json"),
        ("plan", "{}", ASKED, "--error", "30", "--format", "json"),
        ("plan", "{}", "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--rows-per-person", "1,3", "--format", "json"),
        ("release", "{}", ASKED, "--epsilon", "0.5", "--simultaneous", "--format", "json"),
        ("release", "{}", ASKED, "--epsilon", "0.5", "--difference", "ward=north,south", "--format", "json"),
    ):
        there = run("--server", url, *(word.format("visits") for word in words)).stdout
        here = run(*(word.format(file) for word in words)).stdout
        passing = ("repeated", "remaining")
        one, two = ({**json.loads(each), **dict.fromkeys(passing)} for each in (there, here))
        assert one == two, words
    shown = run("--server", url, "plan", "visits", ASKED, "--epsilon", "0.5").stdout
    assert "ε left: 1.5" in shown  # of the cap of ana
    token_file = folder / "token"
    token_file.write_text(tokens["bob"])
    token_file.chmod(0o600)
    monkeypatch.delenv("LAPWING_TOKEN")
    done = run("--server", url, "--token-file", str(token_file), "release", "visits", ASKED, "--epsilon", "0.5")
    assert "Asked before" in done.stdout


def test_what_a_server_cannot_do_is_refused(live, monkeypatch, folder):
    url = live()("ana")._link.url
    monkeypatch.setenv("LAPWING_TOKEN", json.loads((folder / "tokens.json").read_text())["ana"])
    asked = ("release", "visits", ASKED, "--epsilon", "0.5")
    said = run("--server", url, "check", "x", status=2).stderr
    assert "`lapwing check` cannot ask a server: it reads the table itself" in " ".join(said.split())
    assert "--token-file is for --server" in run("--token-file", "x", *asked, status=2).stderr
    assert "whose token is used" in run("--server", url, *asked, "--analyst", "bob", status=2).stderr
    told = run("--server", url, "plan", "secrets", ASKED, "--epsilon", "1", "--format", "json", status=2).stderr
    assert json.loads(told)["error"] == "NotAllowed"


def test_a_higher_cap_is_asked_for_and_granted_by_client_and_terminal(live, folder, monkeypatch):
    connect = live()
    ana, olga = connect("ana")["visits"], connect("olga")["visits"]
    asked = ana.request("2.5", "A second survey.")
    assert (asked.analyst, asked.cap, asked.state) == ("ana", Fraction(5, 2), "open")
    assert olga.requests() == ana.requests() == [asked]
    assert olga.grant(asked.number, "2.25", note="until May").granted == Fraction(9, 4)
    assert ana.left() == Fraction(9, 4)
    assert ana.withdraw(ana.request(3, "More.").number).state == "withdrawn"
    assert olga.decline(ana.request(3, "More.").number).state == "declined"
    with pytest.raises(lw.errors.InvalidParameter, match=r"above the 2\.25 that you have"):
        ana.request(2, "Less.")

    url = ana._link.url
    monkeypatch.setenv("LAPWING_TOKEN", json.loads((folder / "tokens.json").read_text())["ana"])
    words = ("--server", url, "request", "visits")
    told = run(*words, "--cap", "4", "--reason", "The third.", "--format", "json").stdout
    number = str(json.loads(told)["requests"][0]["request"])
    file = str(folder / "visits.toml")
    assert number in run("ledger", file, "requests").stdout
    assert "cap of ana is now 3" in run("ledger", file, "requests", "grant", number, "--cap", "3").stdout
    assert "granted" in run(*words).stdout
    last = json.loads(run(*words, "--cap", "5", "--reason", "No.", "--format", "json").stdout)["requests"][0]
    assert "is declined" in run("ledger", file, "requests", "decline", str(last["request"])).stdout
    another = json.loads(run(*words, "--cap", "5", "--reason", "No.", "--format", "json").stdout)["requests"][0]
    assert "withdrawn" in run(*words, "--withdraw", str(another["request"])).stdout
    assert "--server URL request" in run("request", "visits", status=2).stderr
    assert "Give --cap and --reason" in run(*words, "--cap", "5", status=2).stderr
