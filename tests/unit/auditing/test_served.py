"""The server of the audit."""

import asyncio

from lapwing.auditing.tools.served import serving

SOURCE = """\
name = "t"
table = "t.csv"
epsilon = 1

[columns.k]
keys = ["a"]
"""


def test_a_server_is_asked_also_where_an_event_loop_runs_as_in_notebooks(tmp_path):
    (tmp_path / "t.csv").write_text("k\na\n")
    (tmp_path / "t.toml").write_text(SOURCE)

    async def work(server):
        await server.ask("ana", {"sql": "SELECT COUNT(*) FROM t", "epsilon": "0.5"}, "plan")

    async def cell():
        return serving(tmp_path, [tmp_path / "t.toml"], {}, work)

    assert [each.status for each in asyncio.run(cell()).answers] == [200]
