"""The number of rows with a value: COUNT(x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..question.query import StatisticKind
from .partition import Partition


@dataclass(frozen=True)
class Count(Partition):
    """The number of rows with a value: COUNT(x)."""

    form: ClassVar[str] = "count"
    claim: ClassVar[str] = "P1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"count"})
    sums: ClassVar[Literal["present"]] = "present"
    clamps: ClassVar[bool] = False
    own_names: ClassVar[tuple[str, ...]] = ("present",)

    def own_cells(self, present: Any, first: Any, second: Any) -> tuple[Any, ...]:
        return (present,)
