"""The walk of one release through the package: how many calls, functions, modules, and changes of module.

python bench/trace.py [--walk]
"""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import FrameType

import click
from click.testing import CliRunner

QUESTION = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
SOURCE = """
name = "visits"
table = "visits.csv"
person = "patient"
rows_per_person = 2
epsilon = 10
[columns.ward]
keys = ["north", "south"]
[columns.cost]
low = 0
high = 1000
"""


def trace(arguments: list[str]) -> list[tuple[str, str]]:
    """Return (module, function) of every call inside the package, in order."""
    import lapwing

    package, calls = str(Path(lapwing.__file__).parent), []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and not code.co_name.startswith("<"):
            calls.append((code.co_filename[len(package) + 1 : -3], code.co_qualname))

    from lapwing.cli.main import main

    CliRunner().invoke(main, ["--version"])
    sys.setprofile(note)
    try:
        done = CliRunner().invoke(main, arguments)
    finally:
        sys.setprofile(None)
    if done.exit_code:
        raise click.ClickException(done.output)
    return calls


@click.command()
@click.option("--walk", is_flag=True, help="Print the modules in the order of their first call.")
def run(walk: bool) -> None:
    """Release a count and a mean by a key, and count what was called."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "visits.toml").write_text(SOURCE)
        rows = "".join(f"p{i},{('north', 'south')[i % 2]},{i % 900}\n" for i in range(500))
        (where / "visits.csv").write_text("patient,ward,cost\n" + rows)
        asked = ["release", str(where / "visits.toml"), QUESTION, "--epsilon"]
        trace([*asked, "1"])  # imports, and what is kept from call to call
        calls = trace([*asked, "2"])
    modules = [module for module, _ in calls]
    changes = sum(one != two for one, two in pairwise(modules))
    click.echo(
        f"{len(calls)} calls, {len(set(calls))} functions, {len(set(modules))} modules, {changes} changes of module"
    )
    if walk:
        for module in dict.fromkeys(modules):
            click.echo(f"  {module}: {', '.join(dict.fromkeys(name for at, name in calls if at == module))}")


if __name__ == "__main__":
    run()
