import duckdb
import pytest

from lapwing.engine.connection import connected, measure_progress


class InANotebook:
    """A connection as it is in a notebook without ipywidgets."""

    def execute(self, sql):
        raise duckdb.InvalidInputException("Could not change the progress bar setting because: …")


def test_without_ipywidgets_there_is_no_progress_and_no_failure():
    measure_progress(InANotebook())


def test_what_else_is_wrong_is_not_hidden():
    class Broken:
        def execute(self, sql):
            raise duckdb.OutOfMemoryException("…")

    with pytest.raises(duckdb.OutOfMemoryException):
        measure_progress(Broken())


def test_progress_is_measured_and_never_printed():
    with connected() as connection:
        settings = "SELECT current_setting('enable_progress_bar'), current_setting('enable_progress_bar_print')"
        assert connection.execute(settings).fetchall() == [(True, False)]
