"""A guided first source: from an uploaded table to a served one, by those who may, and nothing outside their room."""

import fcntl
import gc
import html
import json
import os
import re
import stat
import threading
from fractions import Fraction

import pytest

from lapwing.errors import InvalidSource
from lapwing.server.access import invite
from lapwing.server.making import SourceMaker
from lapwing.server.permissions import Role
from lapwing.server.uploads import LOCK, UPLOAD, Folder
from lapwing.source import Source

from .conftest import CANARY
from .test_pages import HERE, csrf, look, send, sign_in

TABLE = "person,ward,cost,day\n" + "".join(
    f"p{i},{('north', 'south')[i % 2]},{i % 50},2024-01-{i % 28 + 1:02}\n" for i in range(100)
)
TABLE += f"canary,north,{CANARY},2024-01-01\n"
FORM = {
    "person": "0", "rows_per_person": "2", "neighbors": "add_remove", "name": "clinic", "epsilon": "2",
    "keys-1": "north, south", "other-1": "elsewhere", "low-2": "0", "high-2": "50", "title-2": "Cost & more",
    "low-3": "2024-01-01", "high-3": "2024-12-31",
}  # fmt: skip


@pytest.fixture
def tables(tmp_path):
    return tmp_path / "tables"


@pytest.fixture
def made(start, tables):
    """A server with a folder for new sources; mara and max may make some."""
    server = start(sources_folder=str(tables))
    for name in ("mara", "max"):
        server.tokens[name] = invite(server.app.access, name, Role.MAKER, [], 30, [""]).text
    return server


def send_table(server, who="mara", name="clinic.csv", body=TABLE, **more):
    cookie = sign_in(server, who)
    headers = {**HERE, "content-type": "application/octet-stream", "cookie": cookie, **more}
    headers.setdefault("x-lapwing-csrf", csrf(server, cookie))
    return server.post(f"{UPLOAD}?name={name}", body=body.encode(), headers=headers)


def post(server, path, fields, who="mara"):
    cookie = sign_in(server, who)
    return send(server, path, {"csrf": csrf(server, cookie), **fields}, cookie), cookie


def test_the_check_speaks_of_the_fields_of_the_form_and_not_of_a_source_file(made):
    send_table(made)
    form = {**FORM, "other-1": "", "keys-1": "north", "rows_per_person": "1", "low-2": "5"}
    send_table(made, name="twice.csv", body=TABLE + TABLE.partition("\n")[2])
    page, _ = post(made, "/new/twice.csv/check", form)
    told = re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", "", page.text)))
    assert 'rows with a key that is not listed are left out. Fill in "all others together as" to count them.' in told
    assert 'people with more rows than "Rows of one person that count in full" are weighted down to it' in told
    assert "values beyond the bounds count as the bounds. Take bounds from what the column means." in told
    for other in ("`", "[file]", "other =", "SOURCE", "--epsilon"):
        assert other not in told.partition("What becomes public")[0], other
    again = html.unescape(look(made, "/new/twice.csv", sign_in(made, "mara")).text)
    assert ">all others together as</label>" in again
    assert ">Rows of one person that count in full</label>" in again


def test_a_name_that_is_taken_is_told_before_it_is_served(made):
    send_table(made)
    page, _ = post(made, "/new/clinic.csv/check", {**FORM, "name": "visits"})
    assert page.status == 409
    assert "This name is taken" in page.text
    assert "Serve visits" not in page.text


def test_bounds_and_keys_of_one_column_are_told_apart(made):
    send_table(made)
    page, _ = post(made, "/new/clinic.csv/check", {**FORM, "keys-2": "1, 2"})
    assert page.status == 400
    assert "Bounds of cost and its keys were both given" in page.text


def test_a_table_becomes_a_source_that_answers_without_a_restart(made, tables):
    assert send_table(made).json == {"table": "clinic.csv", "next": "/new/clinic.csv"}
    page = look(made, "/new/clinic.csv", sign_in(made, "mara"))
    assert page.status == 200
    for text in ("becomes public", "first day", "none: each row is another person"):
        assert text in page.text
    checked, _ = post(made, "/new/clinic.csv/check", FORM)
    assert checked.status == 200
    assert "PRIVATE: for the owner of the table alone" in checked.text
    assert "values beyond the bounds count as the bounds" in checked.text
    assert "Changing it later needs the\nserver's machine." in checked.text
    assert not [each for each in (tables / "mara").iterdir() if each.name not in ("clinic.csv",)]  # nothing is left
    assert "clinic" not in made.app.sources
    unsure, _ = post(made, "/new/clinic.csv/serve", FORM)
    assert unsure.status == 400
    assert "Confirm first" in unsure.text
    done, cookie = post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})
    assert (done.status, done.headers["location"]) == (303, "/sources/clinic")
    there = look(made, "/sources/clinic", cookie)
    assert there.status == 200  # in the session by which it was made
    assert 'clinic is served, and only you have a role. <a href="/sources/clinic/people#invite">' in there.text
    assert "only you have a role" not in look(made, "/sources/visits", sign_in(made, "olga")).text
    assert made.get("/api/v1/me", "mara").json["roles"] == {"": ["maker"], "clinic": ["owner"]}
    answer = made.release("mara", "SELECT ward, COUNT(*), AVG(cost) FROM clinic GROUP BY ward", "1", "clinic")
    assert answer.status == 200
    assert made.app.sources["clinic"].ledger.budget("mara").total == 2
    for each in (page, checked, unsure, done, answer):
        assert CANARY not in each.text
        assert str(tables) not in each.text
    assert CANARY not in json.dumps(made.lines)


def test_what_was_made_is_served_again_after_a_restart(made, start, tables):
    send_table(made)
    post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})
    made.release("mara", "SELECT COUNT(*) FROM clinic", "1", "clinic")
    made.stop()
    again = start(sources_folder=str(tables))
    assert again.app.sources["clinic"].ledger.spent == 1
    assert again.get("/api/v1/sources/clinic", token=made.tokens["mara"]).status == 200
    assert again.get("/api/v1/sources/clinic", "olga").status == 404


def test_T46_two_servers_with_one_folder_make_one_source_of_one_table_and_one_of_one_name(made, start, tables):
    second = start(sources_folder=str(tables), access=str(tables.parent / "second.sqlite"))
    for name in ("mara", "max"):
        second.tokens[name] = invite(second.app.access, name, Role.MAKER, [], 30, [""]).text
    send_table(made)
    send_table(made, name="copy.csv")
    send_table(second, "max", body=TABLE + "more,north,1,2024-01-02\n")
    done, _ = post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})
    assert done.status == 303
    for table in ("clinic.csv", "copy.csv"):
        refused, _ = post(second, f"/new/{table}/serve", {**FORM, "name": "another", "confirmed": "yes"})
        assert refused.status == 409
        assert "has this table already" in refused.text
    refused, _ = post(second, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"}, "max")
    assert refused.status == 409
    assert "This name is taken" in refused.text
    assert [each.name for each in Folder(str(tables)).sources()] == ["clinic.toml"]
    made.stop()
    again = start(sources_folder=str(tables))
    assert "clinic" in again.app.sources
    assert not [line for line in again.lines if "failure" in line]


def test_T25_of_two_servers_that_serve_one_table_at_once_one_does(made, start, tables):
    second = start(sources_folder=str(tables), access=str(tables.parent / "second.sqlite"))
    second.tokens["mara"] = invite(second.app.access, "mara", Role.MAKER, [], 30, [""]).text
    send_table(made)
    told = []

    def serve(server, name):
        told.append(post(server, "/new/clinic.csv/serve", {**FORM, "name": name, "confirmed": "yes"})[0].status)

    threads = [threading.Thread(target=serve, args=each) for each in ((made, "first"), (second, "second"))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(told) == [303, 409]
    assert len(list((tables / "mara").glob("*.ledger"))) == 1


def test_a_table_is_looked_at_and_its_source_made_in_one_turn(made, tables, monkeypatch):
    send_table(made)
    in_turn = {"copies": [], "_opened": []}

    def noting(kind, name):
        usual = getattr(kind, name)

        def noted(*given):
            with (tables / LOCK).open("a") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    in_turn[name].append(False)
                except BlockingIOError:
                    in_turn[name].append(True)
            return usual(*given)

        monkeypatch.setattr(kind, name, noted)

    noting(Folder, "copies")
    noting(SourceMaker, "_opened")
    assert post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})[0].status == 303
    assert in_turn["_opened"] == [True]
    assert in_turn["copies"][-1]
    assert not in_turn["copies"][0]  # the form looks at it without the turn


@pytest.mark.parametrize("text", [CANARY, 'table = "', "table = 1", 'table = "x.csv"\njoin = 1', "\xff"])
def test_T46_a_table_of_a_source_that_cannot_be_read_gets_no_second_budget(made, start, tables, text):
    send_table(made)
    send_table(made, "max")
    made.stop()
    (tables / "mara" / "clinic.toml").write_text(text, encoding="latin-1")
    again = start(sources_folder=str(tables))
    again.tokens |= {name: made.tokens[name] for name in ("mara", "max")}
    refused, _ = post(again, "/new/clinic.csv/serve", {**FORM, "name": "another", "confirmed": "yes"})
    assert refused.status == 409
    assert "has this table already" in refused.text
    assert CANARY not in refused.text
    assert look(again, "/new/clinic.csv", sign_in(again, "max")).status == 200  # the rooms of others go on


@pytest.mark.parametrize("harm", ["no TOML", "no ledger", "one name", "one table", "one ledger"])
def test_a_room_that_cannot_be_served_is_left_out_and_all_others_are_served(made, start, tables, folder, harm):
    send_table(made)
    post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})
    send_table(made, "max", body=TABLE + "more,north,1,2024-01-02\n")
    post(made, "/new/clinic.csv/serve", {**FORM, "name": "other", "confirmed": "yes"}, "max")
    made.stop()
    room = tables / "mara"
    text = (room / "clinic.toml").read_text()
    if harm == "no TOML":
        (room / "clinic.toml").write_text(f'name = "{CANARY}')
    elif harm == "no ledger":
        (room / "clinic.ledger").write_text(f"{CANARY} is no ledger")
    elif harm == "one name":
        (room / "clinic.toml").write_text(text.replace('name = "clinic"', 'name = "visits"'))
    elif harm == "one table":
        (room / "clinic.toml").write_text(text.replace('"clinic.csv"', f'"{tables / "max" / "clinic.csv"}"'))
        (tables / "mara").rename(tables / "zoe")  # after max
    else:
        (room / "clinic.toml").write_text(f'ledger = "{folder / "visits.ledger"}"\n{text}')
    again = start(sources_folder=str(tables))
    assert sorted(again.app.sources) == ["other", "secrets", "visits"]
    assert again.release("ana").status == 200
    left_out = [line for line in again.lines if "failure" in line]
    file = "zoe/clinic.toml" if harm == "one table" else "mara/clinic.toml"
    assert [line["source"] for line in left_out] == [file]
    assert "This source is not served, all others are." in left_out[0]["message"]
    for private in (CANARY, str(tables)):
        assert private not in json.dumps(again.lines)
    assert again.get("/api/v1/sources/clinic", token=made.tokens["mara"]).status == 404


def test_a_source_that_the_operator_names_still_stops_the_start(start, folder, tables):
    (folder / "secrets.toml").write_text("name = 1")
    with pytest.raises(InvalidSource):
        start(sources_folder=str(tables))


def test_a_table_that_takes_long_goes_on_and_what_fails_later_is_in_no_log(start, tables, monkeypatch, caplog):
    server, go_on, ended = start(sources_folder=str(tables), seconds=1), threading.Event(), threading.Event()
    server.tokens["mara"] = invite(server.app.access, "mara", Role.MAKER, [], 30, [""]).text
    (tables / "mara").mkdir(parents=True)
    (tables / "mara" / "clinic.csv").write_text(TABLE)

    def slow(*given):
        assert go_on.wait(60)
        ended.set()
        raise RuntimeError(CANARY)

    monkeypatch.setattr(SourceMaker, "add", slow)
    told, _ = post(server, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})
    assert told.status == 503
    assert "look at your sources later" in told.text
    go_on.set()
    assert ended.wait(60)
    server.stop()
    gc.collect()
    assert "never retrieved" not in caplog.text
    assert CANARY not in caplog.text


def test_files_and_folders_are_for_the_server_alone(made, tables):
    send_table(made)
    post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})
    assert stat.S_IMODE((tables / "mara").stat().st_mode) == 0o700
    for name in ("clinic.csv", "clinic.toml"):
        assert stat.S_IMODE((tables / "mara" / name).stat().st_mode) == 0o600
    source = Source.open(tables / "mara" / "clinic.toml")
    assert (source.epsilon, source.schema.person, source.schema.rows_per_person) == (Fraction(2), "person", 2)
    assert source.schema.columns["cost"].title == "Cost & more"
    assert set(source.schema.columns) >= {"ward", "cost", "day"}


@pytest.mark.parametrize(
    "name",
    [
        "../x.csv", "..%2Fx.csv", "%2Fetc%2Fx.csv", ".x.csv", "x.toml", "x.csv%00", "x.csv%0A", "x.CSV", "", "a b.csv",
        "x.csv.toml", "x*.csv", "%C3%A9.csv", "x" * 61 + ".csv", "mara%2Fx.csv", "-x.csv",
    ],
)  # fmt: skip
def test_T50_no_name_leads_out_of_the_room(made, tables, name):
    answer = send_table(made, name=name)
    assert answer.status == 400, name
    assert not [each for each in tables.rglob("*") if each.is_file() and each.name != LOCK]


def test_someone_called_like_a_file_of_the_folder_has_no_room(made, tables):
    (tables / "mara").write_text(TABLE)
    assert look(made, "/new", sign_in(made, "mara")).status == 404
    assert send_table(made).status == 404


@pytest.mark.parametrize("table", ["..%2Fvisits.csv", "visits.csv", "%2Fetc%2Fpasswd", "clinic.toml", "link.csv", "."])
def test_T50_no_address_of_a_table_leads_to_another_file(made, tables, folder, table):
    (tables / "mara").mkdir(parents=True)
    (tables / "mara" / "link.csv").symlink_to(folder / "visits.csv")
    (tables / "link.csv").symlink_to(folder / "visits.csv")
    cookie = sign_in(made, "mara")
    assert look(made, f"/new/{table}", cookie).status == 404
    assert post(made, "/new", {"table": table})[0].status == 404


def test_tables_of_others_do_not_exist(made, tables):
    send_table(made)
    cookie = sign_in(made, "max")
    assert str(look(made, "/new/clinic.csv", cookie).status) == "404"
    assert "clinic" not in look(made, "/new", cookie).text
    for place in ("shared.csv", "max/given.csv"):  # by an administrator
        (tables / place).write_text(TABLE)
    assert "shared.csv" not in look(made, "/new", cookie).text
    assert (
        look(made, "/new/shared.csv", cookie).status
        == look(made, "/new/given.csv", sign_in(made, "mara")).status
        == 404
    )
    assert "given.csv" in look(made, "/new", cookie).text
    done, _ = post(made, "/new/given.csv/serve", {**FORM, "name": "given", "confirmed": "yes"}, "max")
    assert done.status == 303
    taken = look(made, "/new/given.csv", cookie)
    assert taken.status == 409
    assert "has this table already" in taken.text


def test_a_table_is_checked_few_times_a_day_since_a_check_reads_it_without_noise(made, monkeypatch):
    monkeypatch.setattr("lapwing.server.making.MOST_CHECKS", 3)
    for name in ("clinic.csv", "other.csv"):
        send_table(made, name=name, body=TABLE + f"{name},north,1,2024-01-01\n")
    bounds = [str(each) for each in range(100, 105)]
    pages = [post(made, "/new/clinic.csv/check", {**FORM, "high-2": high})[0] for high in bounds]
    assert [each.status for each in pages] == [200] * 3 + [429] * 2
    assert "A table is checked at most 3 times a day" in pages[-1].text
    assert post(made, "/new/other.csv/check", FORM)[0].status == 200
    send_table(made, "max")
    assert post(made, "/new/clinic.csv/check", FORM, "max")[0].status == 200
    assert post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})[0].status == 303


def test_the_total_of_a_source_that_is_made_has_a_ceiling_at_the_start_and_later(made, start, tables):
    send_table(made)
    for path in ("check", "serve"):
        page, _ = post(made, f"/new/clinic.csv/{path}", {**FORM, "epsilon": "10.1", "confirmed": "yes"})
        assert page.status == 400
        assert "is at most ε = 10." in page.text
    assert post(made, "/new/clinic.csv/serve", {**FORM, "epsilon": "10", "confirmed": "yes"})[0].status == 303
    made.stop()
    again = start(sources_folder=str(tables), epsilon_per_source=20)
    total = "/api/v1/sources/{}/total"
    again.tokens["mara"] = made.tokens["mara"]
    said = [
        again.call("PUT", total.format("clinic"), "mara", {"epsilon": each, "note": "more"}).status
        for each in ("20.1", "1000", "20")
    ]
    assert said == [400, 400, 200]
    assert again.app.sources["clinic"].ledger.total == 20
    served = again.call("PUT", total.format("visits"), "olga", {"epsilon": "50", "note": "the administrator's"})
    assert served.status == 200


def test_a_name_or_a_table_that_is_in_use_is_refused(made, tables):
    send_table(made)
    assert send_table(made).status == 409  # never replaced
    assert (tables / "mara" / "clinic.csv").read_text() == TABLE
    for name in ("visits", "secrets"):
        answer, _ = post(made, "/new/clinic.csv/serve", {**FORM, "name": name, "confirmed": "yes"})
        assert answer.status == 409
        assert "This name is taken" in answer.text
    assert sorted(each.name for each in (tables / "mara").iterdir()) == ["clinic.csv"]
    assert post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})[0].status == 303
    assert post(made, "/new/clinic.csv/serve", {**FORM, "name": "second", "confirmed": "yes"})[0].status == 409
    assert "second" not in made.app.sources


def test_T46_the_same_rows_under_another_name_get_no_second_budget(made, tables):
    send_table(made)
    assert post(made, "/new/clinic.csv/serve", {**FORM, "confirmed": "yes"})[0].status == 303
    assert send_table(made, name="again.csv").status == 201
    answer, _ = post(made, "/new/again.csv/serve", {**FORM, "name": "again", "confirmed": "yes"})
    assert answer.status == 409
    assert "has this table already" in answer.text
    assert send_table(made, "max").status == 201  # what others have uploaded is not told
    assert look(made, "/new/clinic.csv", sign_in(made, "max")).status == 200


def test_a_person_column_of_many_digits_is_refused_in_words(made):
    send_table(made)
    assert post(made, "/new/clinic.csv/check", {**FORM, "person": "9" * 5000})[0].status == 400


def test_T25_of_those_who_serve_one_table_at_once_one_does(made):
    send_table(made)
    told = []

    def serve(name):
        told.append(post(made, "/new/clinic.csv/serve", {**FORM, "name": name, "confirmed": "yes"})[0].status)

    threads = [threading.Thread(target=serve, args=(f"clinic{number % 2}",)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(told)[0] == 303
    assert told.count(303) == 1
    assert sum(name.startswith("clinic") for name in made.app.sources) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"person": ""}, {"person": "9"}, {"person": "x"}, {"rows_per_person": "0"}, {"neighbors": "none"},
        {"name": "../x"}, {"name": "Clinic"}, {"name": ""}, {"epsilon": ""}, {"epsilon": "-1"}, {"epsilon": "nan"},
        {"low-2": ""}, {"low-2": "50", "high-2": "0"}, {"low-2": "1e999"}, {"low-2": "0\nx = 1"}, {"keys-2": "1"},
        {"low-3": "yesterday"}, {"keys-1": "north\x00"}, {"title-2": "a\nb"}, {"title-2": "x" * 201},
        {"keys-1": "", "other-1": "", "low-2": "", "high-2": "", "low-3": "", "high-3": ""},
    ],
)  # fmt: skip
def test_what_is_incomplete_or_odd_is_told_on_the_form_and_nothing_is_made(made, tables, change):
    send_table(made)
    for end in ("check", "serve"):
        answer, _ = post(made, f"/new/clinic.csv/{end}", {**FORM, **change, "confirmed": "yes"})
        assert answer.status == 400, change
        assert 'role="alert"' in answer.text
        assert "What is declared about clinic.csv" in answer.text
        assert str(tables) not in answer.text
    assert sorted(each.name for each in (tables / "mara").iterdir()) == ["clinic.csv"]


def test_what_an_owner_types_is_text_and_nothing_else(made, tables):
    send_table(made)
    hostile = '"]\nperson = "ward'
    fields = {**FORM, "keys-1": 'a"b, c\\d, ]', "title-2": '" # <b>', "confirmed": "yes", "version": 'v"1'}
    assert post(made, "/new/clinic.csv/serve", fields)[0].status == 303
    columns = Source.open(tables / "mara" / "clinic.toml").schema.columns
    assert columns["ward"].keys == ('a"b', "c\\d", "]")
    assert columns["cost"].title == '" # <b>'
    assert hostile not in (tables / "mara" / "clinic.toml").read_text()


def test_only_makers_make_and_only_with_a_folder(made, server):
    for who in ("olga", "ana", "audrey", "oscar", "eve"):
        cookie = sign_in(made, who)
        assert look(made, "/new", cookie).status == 404
        assert send_table(made, who).status == 404
        assert "/new" not in look(made, "/", cookie).text
    server.tokens["mara"] = invite(server.app.access, "mara", Role.MAKER, [], 30, [""]).text
    cookie = sign_in(server, "mara")
    assert look(server, "/new", cookie).status == 404
    assert "/new" not in look(server, "/", cookie).text
    assert made.get("/api/v1/sources/visits", "mara").status == 404


def test_an_upload_is_limited_and_leaves_nothing_when_it_breaks(start, tables):
    server = start(sources_folder=str(tables), upload_bytes=1000, body_bytes=2000)
    server.tokens["mara"] = invite(server.app.access, "mara", Role.MAKER, [], 30, [""]).text
    assert send_table(server).status == 413
    cookie = sign_in(server, "mara")
    headers = {
        **HERE,
        "content-type": "application/octet-stream",
        "cookie": cookie,
        "x-lapwing-csrf": csrf(server, cookie),
    }
    pieces = [b"a,b\n", b"x" * 900, b"y" * 900]
    answer = server.call("POST", f"{UPLOAD}?name=a.csv", None, headers=headers, pieces=pieces)
    assert answer.status == 413
    assert not [each for each in tables.rglob("*") if each.is_file() and each.name != LOCK]
    assert send_table(server, body="a,b\n1,2\n", **{"x-lapwing-csrf": "0" * 64}).status == 400
    assert send_table(server, body="a,b\n1,2\n", origin="https://evil.example").status == 400
    assert not [each for each in tables.rglob("*") if each.is_file() and each.name != LOCK]


def test_T24_what_fails_after_nobody_waits_for_it_any_more_is_not_logged(start, tables, monkeypatch, caplog):
    """asyncio logs the text of an error that nobody has seen, and that of a library may quote a cell."""
    server, go_on, ended = start(sources_folder=str(tables), seconds=1), threading.Event(), threading.Event()
    server.tokens["mara"] = invite(server.app.access, "mara", Role.MAKER, [], 30, [""]).text
    assert send_table(server).status == 201

    def fail(*_):
        try:
            assert go_on.wait(30)
            raise RuntimeError(f"cannot cast {CANARY}")
        finally:
            ended.set()

    monkeypatch.setattr(SourceMaker, "columns", fail)
    assert look(server, "/new/clinic.csv", sign_in(server, "mara")).status == 503
    go_on.set()
    assert ended.wait(30)
    for _ in range(3):  # the event loop has turned, so that what it was told is done
        assert server.get("/healthz").status == 200
        gc.collect()
    assert CANARY not in caplog.text
    assert caplog.text == ""


def test_a_form_is_no_larger_at_the_address_of_tables_than_elsewhere(start, tables):
    """A form is read into memory, a table is not."""
    server = start(sources_folder=str(tables), upload_bytes=100_000, body_bytes=2000)
    server.tokens["mara"] = invite(server.app.access, "mara", Role.MAKER, [], 30, [""]).text
    large = TABLE + "x" * 5000
    assert send_table(server, body=large).status == 201
    for kind in ("application/x-www-form-urlencoded", "Application/X-WWW-Form-Urlencoded ; charset=utf-8"):
        assert send_table(server, name="form.csv", body=large, **{"content-type": kind}).status == 413
        cookie = sign_in(server, "mara")
        headers = {**HERE, "content-type": kind, "cookie": cookie, "x-lapwing-csrf": csrf(server, cookie)}
        pieces = [b"a=" + b"x" * 1500, b"y" * 1500]  # without a length
        assert server.call("POST", f"{UPLOAD}?name=form.csv", headers=headers, pieces=pieces).status == 413
    assert [each.name for each in (tables / "mara").iterdir()] == ["clinic.csv"]


def test_what_a_kill_leaves_is_removed_at_the_start_and_what_is_written_is_not(made, start, tables):
    room = Folder(str(tables)).room("mara")
    left = [room / ".upload-00000000000000aa", room / ".check-00000000000000bb.toml"]
    for each in left:
        each.write_text(TABLE)
    written, file = Folder(str(tables))._part(room)  # as another server does; it removes what was left, too
    left[0].write_text(TABLE)
    start(sources_folder=str(tables))
    assert list(room.iterdir()) == [written]
    os.close(file)  # as a kill does
    start(sources_folder=str(tables))
    assert not list(room.iterdir())


def test_uploads_on_their_way_are_few_and_count_as_tables(made, tables, monkeypatch):
    folder = Folder(str(tables))
    room = folder.room("mara")
    (room / ".upload-00000000000000aa").write_text(TABLE)  # nobody writes it
    first, second = folder._part(room), folder._part(room)
    assert sorted(room.iterdir()) == sorted([first[0], second[0]])
    refused = send_table(made)
    assert refused.status == 429
    assert "You have 2 uploads on their way." in refused.text
    assert send_table(made, "max").status == 201
    first[0].unlink()
    os.close(first[1])
    assert send_table(made).status == 201
    monkeypatch.setattr("lapwing.server.uploads.MOST_FILES", 2)
    refused = send_table(made, name="more.csv")
    assert refused.status == 409
    assert "You have 2 tables here, the most" in refused.text
    os.close(second[1])  # as a kill does
    assert send_table(made, name="more.csv").status == 201
    assert sorted(each.name for each in room.iterdir()) == ["clinic.csv", "more.csv"]


def test_a_folder_tells_only_of_sources_that_were_made_in_rooms(tmp_path):
    folder = Folder(str(tmp_path / "tables"))
    assert folder.sources() == []
    room = folder.room("mara")
    for name in ("b.toml", "a.toml", ".check-1.toml", "x.csv"):
        (room / name).write_text("")
    (folder.place / "c.toml").write_text("")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "d.toml").write_text("")
    (folder.place / "link").symlink_to(tmp_path / "elsewhere")
    assert [each.name for each in folder.sources()] == ["a.toml", "b.toml"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "is empty"),
        ("name,40001\n", "as if its first line were a row"),
        ("name,secret\n", "there is no line below it"),
        ("PK\x03\x04\x14 secret \x00\x00", "is an Excel workbook or another ZIP file, and not CSV"),
        ("PAR1\x15\x04 secret", "is a Parquet file, and not CSV"),
    ],
)
def test_a_file_that_is_no_table_is_refused_when_it_arrives_and_nothing_of_it_is_kept(made, tables, body, why):
    answer = send_table(made, name="costs.csv", body=body)
    assert answer.status == 400
    for text in (why, "costs", "The file was not kept."):
        assert text in answer.json["message"]
    for text in ("secret", "40001", str(tables), ".upload", "mara", "lapwing init"):
        assert text not in answer.json["message"]
    assert not list((tables / "mara").iterdir())
    assert send_table(made, name="costs.csv").status == 201  # the name is free


def test_a_table_that_was_put_there_and_cannot_be_read_is_refused_with_the_reason(made, tables):
    tables.mkdir(exist_ok=True)
    (Folder(str(tables)).room("mara") / "costs.csv").write_text("")
    page = look(made, "/new/costs.csv", sign_in(made, "mara"))
    assert page.status == 400
    assert "is empty" in page.text
    assert str(tables) not in page.text


def test_what_is_wrong_in_a_declaration_is_told_by_the_name_of_the_source(made):
    send_table(made)
    for path in ("check", "serve"):
        page, _ = post(made, f"/new/clinic.csv/{path}", {**FORM, "high-2": "-5", "confirmed": "yes"})
        assert page.status == 400
        alert = page.text.split('role="alert">')[1].split("</p>")[0]
        assert "clinic" in alert
        for text in (".check", ".toml", "mara"):
            assert text not in alert


def test_the_form_says_that_days_beyond_the_bounds_count_as_the_bounds(made):
    send_table(made)
    text = " ".join(look(made, "/new/clinic.csv", sign_in(made, "mara")).text.split())
    assert "Days beyond these count as the nearest of the two." in text
    assert "Days beyond these are left out" not in text


def test_the_first_page_of_a_maker_without_a_source_leads_to_a_new_one(made):
    assert 'href="/new">Make a new source</a>' in look(made, "/", sign_in(made, "mara")).text
    assert "Make a new source" not in look(made, "/", sign_in(made, "ana")).text
