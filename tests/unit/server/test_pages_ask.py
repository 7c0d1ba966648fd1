"""The pages to ask: plan, confirmation, release, views and files of answers, history and ledger."""

import csv
import html
import io
import json
import re
import zipfile
from fractions import Fraction
from urllib.parse import urlencode

import openpyxl
import pytest

from lapwing.server.pages.asks import quoted
from lapwing.server.pages.curve import _ticks, ladder
from lapwing.server.pages.files import FILES, file_of
from lapwing.server.permissions import Role
from lapwing.source import Source

from .conftest import ASKED, CANARY
from .test_pages import csrf, look, send, sign_in

ASK = "/sources/visits/ask"


class Visitor:
    """A person in a browser."""

    def __init__(self, server, who):
        self.server, self.cookie = server, sign_in(server, who)
        self.csrf = csrf(server, self.cookie)

    def get(self, path):
        return look(self.server, path, self.cookie)

    def post(self, path, **fields):
        """Send a form; if a page of a question or of an answer is where it leads, return that page."""
        answer = send(self.server, path, {"csrf": self.csrf, **fields}, self.cookie)
        self.went = ""
        while answer.status == 303:
            self.went = answer.headers["location"]
            if "/entries/" not in self.went and "?" not in self.went:
                break
            answer = self.get(self.went)
        return answer

    def ask(self, step, sql=ASKED, epsilon="0.5", **more):
        return self.post(ASK, step=step, sql=sql, epsilon=epsilon, **more)


@pytest.fixture
def ana(server):
    return Visitor(server, "ana")


def hidden(page, name):
    return html.unescape(re.search(f'<input type="hidden" name="{name}" value="([^"]*)"', page.text)[1])


def test_a_question_is_planned_confirmed_and_released_and_then_free(ana, server):
    first = ana.get(ASK)
    assert "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean" in html.unescape(first.text)
    planned = ana.ask("plan")
    assert "± 11" in planned.text
    assert "of 2 left to you; 1.5 after it" in planned.text
    confirm = ana.ask("confirm")
    assert "Release for ε = 0.5?" in confirm.text
    assert hidden(confirm, "sql") == ASKED
    assert server.ledger.spent == 0
    released = ana.ask("release")
    assert "Released for ε = 0.5." in released.text
    assert "1.5 is left to you" in released.text
    assert server.ledger.spent == Fraction(1, 2)
    for step in ("confirm", "release"):
        again = ana.ask(step)
        assert "A recorded answer: nothing was charged." in again.text
    assert server.ledger.spent == Fraction(1, 2)
    answer = server.release("ana").json
    for row in answer["rows"]:
        assert row["ward"] in released.text
        assert f"{row['n']['value']:,}" in released.text


def test_the_plan_follows_as_a_piece_of_a_page_and_reads_nothing(ana, server):
    before = server.ledger.head
    piece = ana.post(f"{ASK}/plan", sql=ASKED, epsilon="0.1")
    assert piece.status == 200
    assert "<html" not in piece.text
    assert "polyline" in piece.text
    assert "falls from" in piece.text
    wrong = ana.post(f"{ASK}/plan", sql="SELECT AVG(salary) FROM visits", epsilon="0.1")
    assert "salary" in wrong.text
    assert "<script" not in ana.post(f"{ASK}/plan", sql="SELECT <script>", epsilon="0.1").text
    for fields in ({"sql": ""}, {"epsilon": ""}, {"epsilon": "x"}, {"sql": "x" * 200_000}):
        assert 'class="bad"' in ana.post(f"{ASK}/plan", **{"sql": ASKED, "epsilon": "1", **fields}).text
    assert server.ledger.head == before


def test_the_plan_says_what_the_error_of_a_quantile_is_in_and_what_that_of_a_mean_assumes(ana):
    page = ana.post(f"{ASK}/plan", sql="SELECT MEDIAN(cost) AS m, AVG(cost) AS a FROM visits", epsilon="0.1").text
    remarks = re.findall(r'<span class="unit">([^<]*)</span>', page)
    assert [each.split(",")[0] for each in remarks] == ["the error is in rank; usually 96", "assumes 1"], remarks


def test_the_curve_of_an_error_has_titles_and_ticks_and_ends_at_what_is_possible(ana):
    page = ana.post(f"{ASK}/plan", sql="SELECT AVG(cost) AS mean, COUNT(*) AS n FROM visits", epsilon="0.1").text
    mean, count = page.split("<figure>")[1:]
    for curve in (mean, count):
        assert "ε, logarithmic" in curve
        assert "± at 95 %, logarithmic" in curve
        assert len(re.findall(r'text-anchor="middle">', curve)) >= 3
    assert "no error can be above 50" in mean  # from 0 to 100
    assert "falls from 50 at ε = 0.002" in mean
    assert "all that is" not in count
    texts = [html.unescape(each).replace(",", "") for each in re.findall(r'text-anchor="end">([\d.,]+)<', mean)]
    assert max(map(float, texts)) <= 50
    assert "no information" in ana.post(f"{ASK}/plan", sql="SELECT AVG(cost) FROM visits", epsilon="0.000001").text


def test_the_curve_of_an_error_ends_where_the_number_is_exact(ana):
    sql = "SELECT COUNT(DISTINCT patient) AS people FROM visits"
    curves = (ana.post(f"{ASK}/plan", sql=sql, epsilon=at).text.partition("<figure>")[2] for at in ("0.1", "50"))
    shown = [
        ("polyline" in each, "<circle" in each, "; ± 0 where the line ends, above ε = 2<" in each) for each in curves
    ]
    assert shown == [(True, True, False), (True, False, True)]


def test_the_plan_has_the_error_of_each_of_several_tables(ana, folder):
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ROLLUP(ward)"
    page = ana.post(f"{ASK}/plan", sql=sql, epsilon="0.1").text
    assert "each of 4 groups in 2 tables" in page
    rows = [
        re.findall(r"<t[hd][^>]*>([^<]*)", row)
        for row in page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    ]
    assert [row[:2] for row in rows] == [["total", "n"], ["total", "m"], ["ward", "n"], ["ward", "m"]]
    tables = Source.open(folder / "visits.toml").plan(sql, epsilon="0.1").to_dict()["tables"]
    margins = [each["margin"] for table in tables for each in table["columns"]]
    assert [row[2] for row in rows] == [f"± {margin:.4g}" for margin in margins]
    assert page.count("in the table where it is largest") == 2


@pytest.mark.parametrize("ends", [(1e-9, 1000), (0.3, 0.31), (0.002, 2), (1, 1e15), (7, 8), (0.0006, 0.6), (999, 1e6)])
def test_the_ticks_of_an_axis_are_few_round_and_on_it(ends):
    ticks = _ticks(ends)
    assert 2 <= len(ticks) <= 5
    assert all(ends[0] <= at <= ends[1] for at, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)


def test_a_budget_that_is_spent_is_said_before_and_at_the_release(ana, server):
    refused = ana.ask("confirm", epsilon="3")
    assert refused.status == 409
    assert "2 is left for you" in refused.text
    assert "nothing was charged" in refused.text
    refused = ana.ask("release", epsilon="3")
    assert refused.status == 409
    assert "2" in refused.text
    assert server.ledger.spent == 0
    assert html.escape(ASKED) in refused.text  # what was typed is still there


def test_a_refusal_is_at_the_top_of_the_page_with_the_way_to_a_higher_cap_if_the_cap_is_why(ana, server):
    link = '<a href="/sources/visits/requests">Ask the owner for a higher cap</a>'
    for step in ("confirm", "release"):
        page = ana.ask(step, epsilon="3").text
        top = page.partition('role="alert"')[2].partition("All together")[0]
        assert link in top, step
        assert "autofocus" in top
        assert "only 2 is left to you" in page.partition('id="plan-title"')[2]
    for given in ({"epsilon": "x"}, {"sql": "SELECT AVG(salary) FROM visits"}, {"sql": ""}):
        page = ana.ask("confirm", **given).text
        assert '<p class="bad">' in page.partition('role="alert"')[2].partition("All together")[0], given
        assert "There is no plan" in page
        assert link not in page
    assert "Set a higher cap" in Visitor(server, "olga").ask("confirm", epsilon="3").text
    server.ledger.set_cap("ana", 9)
    assert link not in ana.ask("confirm", epsilon="5").text  # the total is why


def test_what_is_left_to_a_person_is_never_more_than_what_is_left_of_the_total(ana, server):
    server.ledger.set_cap("ana", 9)
    told = 'ε = 4 left</strong> <span class="quiet">of 9, 0 spent; what is left of the total is less'
    assert told in ana.get(ASK).text
    assert "of 4 left to you; 3.5 after it" in ana.ask("plan").text
    assert "3.5 is left to you" in ana.ask("release").text
    assert "3.5 is left to you" in ana.ask("confirm").text
    assert server.get("/api/v1/sources/visits/budget", "ana").json["mine"]["remaining"] == "3.5"
    for who, path in (("ana", "/"), ("ana", "/sources/visits"), ("ana", "/sources/visits/history"),
                      ("audrey", "/sources/visits/ledger")):  # fmt: skip
        text = Visitor(server, who).get(path).text
        assert "ε = 8.5 left" not in text, path
        assert "ε = 3.5 left" in text, path


def test_someone_without_a_cap_can_plan_and_releases_nothing(server):
    server.app.access.add_role("mona", "visits", Role.ANALYST)
    server.tokens["mona"] = server.app.access.make_token("mona").text
    mona = Visitor(server, "mona")
    for page in (
        mona.get(ASK),
        mona.ask("plan"),
        mona.post(f"{ASK}/plan", sql=ASKED, epsilon="0.5"),
        mona.ask("confirm"),
    ):
        assert "You have no cap on this source: ask the owner for a cap." in page.text
        assert "left to you" not in page.text
    assert "± 11" in mona.ask("plan").text
    confirm = mona.ask("confirm")
    assert confirm.status == 409
    assert 'value="release"' not in confirm.text
    answer = mona.ask("release")
    assert answer.status == 409
    assert "has no cap for you" in answer.text


def test_an_owner_without_a_cap_is_sent_to_the_page_to_set_one(server):
    server.app.access.add_role("mona", "visits", Role.OWNER)
    server.tokens["mona"] = server.app.access.make_token("mona").text
    confirm = Visitor(server, "mona").ask("confirm")
    assert 'You have no cap on this source: set one on <a href="/sources/visits/people">People</a>.' in confirm.text
    assert 'value="release"' not in confirm.text
    assert server.ledger.spent == 0


def test_only_a_repeated_answer_is_headed_as_recorded(ana):
    assert "recorded answer of entry" not in ana.ask("release").text
    assert "recorded answer of entry" in ana.ask("release").text


def test_an_answer_says_what_is_left_to_the_person_who_asked(ana, server):
    first = server.release("ana", record=True).json
    assert (first["remaining"], first["budget"]["remaining"]) == ("1.5", "3.5")
    again = server.release("ana").json
    assert again["remaining"] == "1.5"
    entry = server.get(f"/api/v1/sources/visits/entries/{first['entry']}", "ana").json
    assert entry["remaining"] == "1.5"


def test_an_epsilon_that_is_no_text_is_told_what_it_must_be(server):
    for given in ({"epsilon": 0.7125}, {}, {"epsilon": None}):
        answer = server.post("/api/v1/sources/visits/release", "ana", {"sql": ASKED, **given})
        assert answer.status == 400
        assert 'ε must be a text, such as "0.1".' in answer.json["message"]
        assert "7125" not in answer.text
    other = server.post("/api/v1/sources/visits/release", "ana", {"sql": 1, "epsilon": "0.1"})
    assert "ε must be" not in other.json["message"]


@pytest.mark.parametrize("epsilon", ["abc", "0", "-1", "1e-12"])
def test_the_refusal_of_an_epsilon_that_was_typed_speaks_of_no_types_of_python(server, epsilon):
    message = server.release("ana", epsilon=epsilon).json["message"]
    assert "0 < ε ≤ 1000" in message
    assert "float" not in message
    assert "Decimal" not in message


def test_a_release_goes_on_to_the_page_of_its_entry_which_says_once_what_was_done(ana, server):
    ana.ask("release", simultaneous="1", suppress="1")
    entry = max(each.number for each in server.ledger.entries() if each.kind == "charge")
    path = f"/sources/visits/entries/{entry}"
    assert ana.went == f"{path}?done=charged&simultaneous=1&suppress=1"
    seen = ana.get(ana.went)
    assert "Released for ε = 0.5." in seen.text
    assert "error bars for all cells at once" in seen.text
    assert "recorded answer of entry" not in seen.text
    for step in ("confirm", "release"):
        assert "You asked this before." in ana.ask(step).text
        assert ana.went == f"{path}?done=repeated"
    for words in ("", "?done=<b>", "?done=charged"):
        page = ana.get(f"{path}{words}")
        assert ("Released for" in page.text) == words.endswith("charged")
        assert "<b>" not in page.text
        assert hidden(page, "sql").startswith("SELECT")
    assert server.ledger.spent == Fraction(1, 2)


def test_what_no_entry_of_the_person_shows_is_shown_by_its_question(ana, server):
    assert "Released for ε = 0.5." in ana.ask("release", sql=f"{ASKED} ORDER BY n DESC LIMIT 1").text
    assert ana.went.startswith(f"{ASK}?sql=SELECT")
    again = ana.get(ana.went.replace("done=charged", ""))
    assert "A recorded answer: nothing was charged." in again.text
    bob = Visitor(server, "bob")
    assert "A recorded answer: nothing was charged." in bob.ask("release").text
    assert "step=answer" in bob.went
    assert server.ledger.spent == Fraction(1, 2)


@pytest.mark.parametrize("step", ["plan", "confirm", "edit", "release"])
@pytest.mark.parametrize("more", [{}, {"suppress": "1"}])
def test_no_page_of_a_question_is_the_answer_to_a_form_so_that_back_and_reload_send_none(ana, server, step, more):
    first = send(server, ASK, {"csrf": ana.csrf, "step": step, "sql": ASKED, "epsilon": "0.5", **more}, ana.cookie)
    assert (first.status, first.body) == (303, b"")
    ana.post(ASK, step=step, sql=ASKED, epsilon="0.5", **more)
    before = server.ledger.head
    page, again = (ana.get(ana.went.replace("done=charged", "done=repeated")) for _ in range(2))
    assert (page.status, page.text) == (again.status, again.text) == (200, page.text)
    assert server.ledger.head == before
    if step != "release":
        assert html.escape(ASKED) in page.text


def entry_of(person):
    """The number of the entry that was shown last."""
    return re.search(r"/entries/(\d+)", person.went)[1]


def test_a_comparison_has_an_address(ana):
    ana.ask("release")
    fields = {"entry": entry_of(ana), "compare": "ratio", "of": "ward\nnorth", "to": "ward\nsouth"}
    page = ana.post("/sources/visits/answer", **fields)
    assert ana.went.startswith(f"/sources/visits/answer?entry={fields['entry']}&compare=ratio&")
    assert (page.status, ana.get(ana.went).text) == (200, page.text)
    assert "Ratio by ward: north divided by south" in page.text


def test_a_question_too_long_for_an_address_is_answered_where_it_is_sent(ana, server):
    long = ASKED + " " * 10 + f"-- {'x' * 5000}"
    assert "Release for ε = 0.5?" in ana.ask("confirm", sql=long).text
    assert ana.went == ""
    assert "Released for ε = 0.5." in ana.ask("release", sql=long).text
    assert server.ledger.spent == Fraction(1, 2)


def test_what_the_address_of_a_question_says_is_not_charged(ana, server):
    query = urlencode({"sql": ASKED, "epsilon": "0.5"})
    for step in ("release", "confirm", "answer", "plan", "edit", "nonsense"):
        page = ana.get(f"{ASK}?{query}&step={step}&done=charged")
        assert page.status == (409 if step == "answer" else 200), step
        assert "Released for" not in page.text
    assert server.ledger.spent == 0
    refused = ana.get(f"{ASK}?{urlencode({'sql': 'SELECT nonsense FROM visits', 'epsilon': '0.5'})}&step=confirm")
    assert refused.status == 400
    assert "SELECT nonsense FROM visits" in refused.text


def test_a_comparison_of_keys_of_two_columns_stays_on_the_answer_and_says_what_to_compare(ana):
    both = "SELECT ward, BIN(age, 0, 60, 120) AS old, COUNT(*) AS n FROM visits GROUP BY ward, old"
    ana.ask("release", sql=both)
    page = ana.post("/sources/visits/answer", entry=entry_of(ana), compare="difference", of="ward\nnorth", to="old\n0")
    assert page.status == 400
    assert "Compare two keys of the same column. Nothing was charged." in page.text
    assert "elsewhere" in page.text


def test_an_answer_has_views_comparisons_and_files_at_no_charge(ana, server):
    ana.ask("release")
    spent = server.ledger.spent
    question = json.dumps({"sql": ASKED, "epsilon": "0.5"})
    seen = ana.post("/sources/visits/answer", question=question, simultaneous="1", suppress="1")
    assert "error bars for all cells at once" in seen.text
    keys = {"of": "ward\nnorth", "to": "ward\nsouth"}
    for verb, words in (("difference", "Difference by ward: north minus south"), ("ratio", "Ratio by ward"),
                        ("total", "Total over ward")):  # fmt: skip
        found = ana.post("/sources/visits/answer", question=question, compare=verb, **keys)
        assert (found.status, words in found.text) == (200, True), verb
    wrong = ana.post("/sources/visits/answer", question=question, compare="difference", of="ward\nnorth", to="ward\nx")
    assert wrong.status == 400
    assert "n and cost by ward" in wrong.text  # the answer is still there
    other = ana.post("/sources/visits/answer", question=question, compare="ratio", of="ward\nnorth", to="age\n1")
    assert other.status == 400
    assert server.ledger.spent == spent


def test_all_files_of_an_answer_are_what_they_are_called(ana, server):
    question = hidden(ana.ask("release"), "entry")
    spent, made = server.ledger.spent, {}
    for kind in FILES:
        answer = ana.post("/sources/visits/answer", entry=question, file=kind)
        assert answer.status == 200, (kind, answer.text)
        assert answer.headers["content-disposition"].startswith('attachment; filename="visits-')
        assert answer.headers["content-type"] == FILES[kind].media
        assert CANARY.encode() not in answer.body
        made[kind] = answer.body
    rows = list(csv.DictReader(io.StringIO(made["csv"].decode())))
    expected = json.loads(made["json"])["rows"]
    assert [row["ward"] for row in rows] == [row["ward"] for row in expected] == ["north", "south", "elsewhere"]
    assert [int(row["n"]) for row in rows] == [row["n"]["value"] for row in expected]
    assert made["parquet"][:4] == b"PAR1"
    assert openpyxl.load_workbook(io.BytesIO(made["xlsx"])).sheetnames
    assert "data.sdmx.csv" in zipfile.ZipFile(io.BytesIO(made["sdmx"])).namelist()
    assert {"data.csv", "data.xlsx", "report.html", "README.txt"} <= set(
        zipfile.ZipFile(io.BytesIO(made["package"])).namelist()
    )
    assert made["html"].startswith(b"<!DOCTYPE html>")
    assert b"<svg" in made["svg"]
    assert made["png"].startswith(b"\x89PNG")
    assert ana.post("/sources/visits/answer", entry=question, file="exe").status == 400
    assert server.ledger.spent == spent


def test_each_of_several_tables_has_a_chart_and_the_first_is_on_the_page(ana):
    page = ana.ask("release", "SELECT COUNT(*) FROM visits GROUP BY ROLLUP(ward)")
    assert "The numbers by ward, with error bars" in page.text
    assert "data:image/svg+xml" in page.text
    entry = hidden(page, "entry")
    offered = dict(re.findall(r'name="file" value="((?:svg|png)[^"]*)">([^<]+)<', page.text))
    assert sorted(offered.values()) == ["Chart (PNG, by ward)", "Chart (SVG, by ward)"]
    for kind in (*offered, "svg"):
        file = ana.post("/sources/visits/answer", entry=entry, file=kind)
        assert (file.status, file.headers["content-type"]) == (200, FILES[kind[:3]].media), kind
    for kind in ("svg 7", "svg x", "exe 0"):
        refused = ana.post("/sources/visits/answer", entry=entry, file=kind)
        assert (refused.status, "answer.table" in refused.text) == (400, False), kind


def test_an_answer_that_was_not_released_is_not_shown(ana, server):
    asked = json.dumps({"sql": ASKED, "epsilon": "0.25"})
    for fields in ({"question": asked}, {"question": asked, "file": "csv"}):
        answer = ana.post("/sources/visits/answer", **fields)
        assert (answer.status, "has not been answered yet" in answer.text) == (409, True)
    for text in ("{}", "x", '{"sql": 1}', "[]", '{"sql": "x", "epsilon": 0.5}'):
        assert ana.post("/sources/visits/answer", question=text).status == 400
    assert ana.post("/sources/visits/answer").status == 400
    assert ana.post("/sources/visits/answer", entry="x").status == 404
    assert server.ledger.spent == 0


def test_answers_of_others_are_seen_by_their_question_alone(ana, server):
    ana.ask("release")
    question = json.dumps({"sql": ASKED, "epsilon": "0.5"})
    entry = max(each.number for each in server.ledger.entries() if each.kind == "charge")
    bob, audrey = Visitor(server, "bob"), Visitor(server, "audrey")
    assert bob.get(f"/sources/visits/entries/{entry}").status == 404
    assert bob.post("/sources/visits/answer", entry=str(entry), file="csv").status == 404
    assert bob.post("/sources/visits/answer", question=question).status == 200  # as if bob had asked it: free
    assert audrey.get(f"/sources/visits/entries/{entry}").status == 200
    assert audrey.post("/sources/visits/answer", entry=str(entry), file="csv").status == 200
    assert audrey.post("/sources/visits/answer", question=question).status == 404  # an auditor asks nothing
    assert audrey.get(ASK).status == 404
    assert bob.get("/sources/visits/history").text.count("Entry ") == 0


def test_history_lists_what_i_was_charged_for(ana):
    assert "not been charged for anything yet" in ana.get("/sources/visits/history").text
    ana.ask("release")
    page = ana.get("/sources/visits/history")
    number = re.search(r"/sources/visits/entries/(\d+)", page.text)[1]
    entry = ana.get(f"/sources/visits/entries/{number}")
    assert "A recorded answer" in entry.text
    assert "by ward" in entry.text
    sql, epsilon = hidden(page, "sql"), hidden(page, "epsilon")
    assert html.escape(sql) in ana.ask("edit", sql=sql, epsilon=epsilon).text.replace("&#34;", "&quot;")
    assert "A recorded answer" in ana.ask("confirm", sql=sql, epsilon=epsilon).text


def test_a_long_question_becomes_a_job_whose_page_ends_with_the_answer(ana, server, monkeypatch):
    monkeypatch.setattr("lapwing.server.pages.asks.PATIENCE", 0)
    answer = ana.ask("release")
    assert answer.status == 303
    page = ana.get(answer.headers["location"])
    for _ in range(600):
        if "refresh" not in page.headers:
            break
        assert "It is being answered" in page.text
        page = ana.get(answer.headers["location"])
    assert "A recorded answer" in page.text
    assert server.ledger.spent == Fraction(1, 2)
    bob = Visitor(server, "bob")
    assert bob.get(answer.headers["location"]).status == 404
    assert bob.post(f"{answer.headers['location']}/cancel").status == 404


def test_the_ledger_shows_who_asked_what_and_verifies(ana, server):
    head = server.ledger.head
    ana.ask("release")
    audrey = Visitor(server, "audrey")
    page = audrey.get("/sources/visits/ledger")
    for shown in ("ana", "AVG(&#34;cost&#34;)", "ε = 1.5 left", server.ledger.head):
        assert shown in page.text
    assert "Sound." in audrey.post("/sources/visits/ledger").text
    assert "the head that you kept is among them" in audrey.post("/sources/visits/ledger", head=head).text
    wrong = audrey.post("/sources/visits/ledger", head="0" * 64)
    assert wrong.status == 409
    assert "Sound." not in wrong.text
    assert "visits.ledger" not in wrong.text
    assert "This head is not in the ledger" in wrong.text
    mistyped = audrey.post("/sources/visits/ledger", head="abc")
    assert mistyped.status == 400
    assert "64 hexadecimal digits" in mistyped.text
    assert "damaged" not in mistyped.text
    told = server.get("/api/v1/sources/visits/ledger/verify?head=abc", "audrey")
    assert (told.status, told.json["error"]) == (400, "InvalidParameter")
    assert ana.get("/sources/visits/ledger").status == 404


def test_the_version_of_the_data_is_shown_beside_each_question(start, folder):
    file = folder / "visits.toml"
    for version in ("q1", "q2"):
        file.write_text(
            re.sub(r'(version = "q1"\n)?name = ', f'version = "{version}"\nname = ', file.read_text(), count=1)
        )
        Visitor(start(), "ana").ask("release")
    server = start()
    for who, page in (("ana", "history"), ("olga", "ledger")):
        text = Visitor(server, who).get(f"/sources/visits/{page}").text
        assert re.findall(r'<span class="unit">(q\d)</span> <code>SELECT', text) == ["q2", "q1"]


def test_a_long_ledger_is_shown_in_pieces(server, monkeypatch):
    monkeypatch.setattr("lapwing.server.pages.records.LISTED", 3)
    olga = Visitor(server, "olga")
    for cap in range(3, 8):
        server.ledger.set_cap("ana", cap)
    page, seen = olga.get("/sources/visits/ledger"), []
    while True:
        seen += map(int, re.findall(r'<th scope="row" class="key">(\d+)</th>', page.text))
        older = re.search(r"/sources/visits/ledger\?before=\d+", page.text)
        if older is None:
            break
        page = olga.get(older[0])
    assert seen == sorted(seen, reverse=True) == list(range(len(server.ledger.entries()), 0, -1))
    assert olga.get("/sources/visits/ledger?before=x").status == 404


def test_questions_that_cost_nothing_need_no_confirmation_of_costs(ana, server):
    assert ana.post(ASK, step="nonsense", sql=ASKED, epsilon="0.5").status == 200
    assert server.ledger.spent == 0


@pytest.mark.parametrize("left", ["2", "0.5", "10", "0.001", "3.7", "0", "1000"])
def test_the_slider_has_round_values_up_to_what_is_left(left):
    values = [Fraction(each) for each in ladder(Fraction(left))]
    assert values == sorted(set(values))
    assert values[-1] == (Fraction(left) or 1)
    assert 15 <= len(values) <= 20
    assert values[0] >= values[-1] / 1000


@pytest.mark.parametrize(
    ("name", "sql"),
    [("cost", "cost"), ("my col", '"my col"'), ('a"b', '"a""b"'), ("select", '"select"'), ("é", '"é"'),
     ("alter", '"alter"'), ("left", '"left"'), ("median", '"median"')],
)  # fmt: skip
def test_names_are_quoted_where_sql_needs_it(name, sql):
    assert quoted(name) == sql


def test_T50_a_file_for_a_spreadsheet_has_no_text_that_it_would_compute(folder, frozen_noise):
    source = Source.open(folder / "visits.toml")
    asked = 'SELECT ward AS "=2+3", COUNT(*) AS "=HYPERLINK(\'x\')" FROM visits GROUP BY ward'
    titles = next(csv.reader(io.StringIO(file_of(source.release(asked, epsilon=1, analyst="ana"), "csv").decode())))
    assert titles[:2] == ["'=2+3", "'=HYPERLINK('x')"]
