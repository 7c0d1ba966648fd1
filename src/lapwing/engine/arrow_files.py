"""Arrow IPC files, which are also called Feather: read by pyarrow as an Arrow table, not as Python's objects."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb

from .apart import need
from .frame import UNKNOWN, Frame
from .given import CHANGED, Files, Handed, Wanted
from .table import DescribedField, Field, Problem

_MAGIC = b"ARROW1"


class ArrowFiles(Files):
    """A path or glob of Arrow IPC files."""

    title = "an Arrow IPC file"
    options = ("decimal", "thousands", "dates", "missing")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._checked: dict[tuple[object, ...], tuple[int, ...]] = {}

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        return [Field(field.name, UNKNOWN) for field in self._schema()]

    def described(self) -> list[DescribedField]:
        names = [field.name for field in self._schema()]
        types = Frame(self._schema().empty_table()).check([Wanted(at, "text") for at in range(len(names))])
        return [DescribedField(name, kind) for name, kind in zip(names, types, strict=True)]

    def check(self, wanted: Sequence[Wanted]) -> list[str]:
        """Refuse, before anything is charged, a damaged file, and columns of types that DuckDB does not know."""
        types = Frame(self._schema().empty_table()).check(wanted)
        places = sorted({each.place for each in wanted})
        for file, now in self.stamps().items():
            if self._checked.get((file, *places)) != now:
                _read(file, places, validate=True)
                self._checked[file, *places] = now
        return types

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self._stamps = self.stamps()
        if self.fields() != list(fields):
            raise Problem(*CHANGED)
        places = sorted({each.place for each in wanted})
        parts = [_read(file, places, validate=False) for file in self._stamps]
        table = import_module("pyarrow").concat_tables(parts)
        chosen = [Wanted(places.index(each.place), each.kind) for each in wanted]
        return Frame(table).cells(connection, chosen, fields)

    def _schema(self) -> Any:
        """Return the columns, which must be the same in all files."""
        files = self.paths
        schemas = [_opened(file, lambda reader: reader.schema) for file in files]
        for file, schema in zip(files, schemas, strict=True):
            if schema.remove_metadata() != schemas[0].remove_metadata():
                raise Problem(
                    f'has files with different columns: "{file}" and "{files[0]}"',
                    "All files of a glob must have the same columns, of the same types, in the same order.",
                )
        return schemas[0]


def _read(file: str, places: Sequence[int], validate: bool) -> Any:
    """Return the columns at these places; if there are none, the first, for the number of rows."""

    def read(reader: Any) -> Any:
        table = reader.read_all()
        if validate:
            table.validate(full=True)
        return table

    return _opened(file, read, list(places) or [0])


def _opened(file: str, read: Any, places: Sequence[int] | None = None) -> Any:
    """Return what ``read`` returns of the reader of a file; it is not mapped into memory, for it may change."""
    need("pyarrow", "arrow", file)
    pyarrow = import_module("pyarrow")
    import_module("pyarrow.ipc")
    name = f'cannot be read: the file "{file}"'
    with Path(file).open("rb") as stream:
        start = stream.read(len(_MAGIC))
    if start != _MAGIC:
        raise Problem(
            f"{name} is not an Arrow IPC file",
            "Streams and the first version of Feather are not read: write it with pyarrow.feather.write_feather, or "
            "with write_ipc of Polars.",
        )
    try:
        options = pyarrow.ipc.IpcReadOptions(included_fields=places)
        with pyarrow.OSFile(file) as source, pyarrow.ipc.open_file(source, options=options) as reader:
            return read(reader)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError):
        pass
    raise Problem(f"{name} is damaged or incomplete", "Write it again.")
