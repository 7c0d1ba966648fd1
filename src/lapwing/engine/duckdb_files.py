"""DuckDB files: one base table, attached to be read only, so that nothing else in the file runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ..question.query import literal, quoted
from ..report import printable
from .connection import connected
from .given import CHANGED, Files, Handed, Wanted
from .table import Field, Problem

_MAGIC = (8, 12, b"DUCK")


class DuckdbFiles(Files):
    """A DuckDB file."""

    title = "a DuckDB file"
    options = ("part", "decimal", "thousands", "dates", "missing")

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        with connected() as temporary:
            return self._opened(temporary)[1]

    def check_names(self) -> None:
        """Refuse a file with several tables, and show their names to its owner."""
        with connected() as temporary:
            self._opened(temporary, owner=True)

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse, before anything is charged, columns that are computed when they are read."""
        with connected() as temporary:
            _, fields, computed = self._opened(temporary)
            self._check_stored([fields[each.place].name for each in wanted], computed)

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self._stamps = self.stamps()
        table, now, computed = self._opened(connection)
        if now != list(fields):
            raise Problem(*CHANGED)
        chosen = [fields[each.place] for each in wanted]
        self._check_stored([field.name for field in chosen], computed)
        columns = ", ".join(f"{_binary(field)} AS c{i}" for i, field in enumerate(chosen)) or "1 AS one"
        return Handed(f"(SELECT {columns} FROM {table})", [field.type for field in chosen], [False] * len(chosen))

    def _check_stored(self, names: Sequence[str], computed: Sequence[str]) -> None:
        for name in names:
            if name in computed:
                raise Problem(
                    f'cannot be read: the column "{name}" is computed when it is read, which a cell could make fail',
                    "Copy the table with CREATE TABLE … AS FROM ….",
                )

    def _opened(self, connection: duckdb.DuckDBPyConnection, owner: bool = False) -> tuple[str, list[Field], list[str]]:
        """Attach the file; return its table, the columns of it, and the names of those that are computed."""
        files = self.paths
        if len(files) > 1:
            raise Problem("names several DuckDB files", "Name one file.")
        self._attach(connection, files[0])
        schema, table = self._table(connection, files[0], owner)
        columns = connection.execute(
            "SELECT column_name, data_type, is_generated FROM duckdb_columns() "
            "WHERE database_name = 'attached' AND schema_name = ? AND table_name = ? ORDER BY column_index",
            [schema, table],
        ).fetchall()
        fields = [Field(name, kind) for name, kind, _ in columns]
        return f"attached.{quoted(schema)}.{quoted(table)}", fields, [name for name, _, made in columns if made]

    def _attach(self, connection: duckdb.DuckDBPyConnection, file: str) -> None:
        name = f'cannot be read: the file "{file}"'
        first, last, magic = _MAGIC
        with Path(file).open("rb") as stream:
            if stream.read(last)[first:] != magic:
                raise Problem(f"{name} is not a DuckDB file, or it is encrypted", "Look at what `table` names.")
        failed = False
        try:
            connection.execute(f"ATTACH {literal(str(Path(file).resolve()))} AS attached (READ_ONLY, TYPE duckdb)")
        except duckdb.Error:
            failed = True
        if failed:
            raise Problem(
                f"{name} could not be opened: another program or connection is writing to it, it is damaged, or it is "
                f"of a version of DuckDB that {duckdb.__version__} does not read",
                "Close what uses it; or write the table to Parquet with COPY … TO 'table.parquet'.",
            )
        size = "SELECT block_size * total_blocks FROM pragma_database_size() WHERE database_name = 'attached'"
        (blocks,) = connection.execute(size).fetchall()[0]
        if Path(file).stat().st_size < blocks:
            raise Problem(f"{name} was cut off: it is shorter than it says", "Copy or write it again.")

    def _table(self, connection: duckdb.DuckDBPyConnection, file: str, owner: bool) -> tuple[str, str]:
        """Return the schema and the name of the table that is meant; the owner may see those of the others."""
        name, part = f'cannot be read: the file "{file}"', self.file.part
        found = connection.execute(
            "SELECT schema_name, table_name, true FROM duckdb_tables() "
            "WHERE database_name = 'attached' AND NOT internal "
            "UNION ALL SELECT schema_name, view_name, false FROM duckdb_views() "
            "WHERE database_name = 'attached' AND NOT internal ORDER BY ALL"
        ).fetchall()
        titles = [
            (f"{schema}.{table}" if schema != "main" else table, schema, table, base) for schema, table, base in found
        ]
        tables = [title for title, *_, base in titles if base]
        listed = f" It has: {', '.join(map(printable, tables))}." if owner and tables else ""
        if part is None and len(tables) != 1:
            advice = (
                f"Name the one that is meant: part in [file], or lapwing init --part.{listed}"
                if tables
                else "Write it again."
            )
            raise Problem(f"{name} has {len(tables) or 'no'} tables", advice)
        for title, schema, table, base in titles:
            if title == (part if part is not None else tables[0]):
                if not base:
                    raise Problem(
                        f'{name} has "{part}" as a view, which would run what is written in the file',
                        "Copy it to a table with CREATE TABLE … AS FROM …, and name that.",
                    )
                return schema, table
        raise Problem(
            f'{name} has no table "{part}"',
            f'Names are compared exactly; in another schema than main, write part = "schema.table".{listed}',
        )


def _binary(field: Field) -> str:
    """Return a column whose texts are the same only if all of their characters are, whatever its collation says."""
    return f'{quoted(field.name)} COLLATE "binary"' if field.type == "VARCHAR" else quoted(field.name)
