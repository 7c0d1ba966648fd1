"""What a request asks → plan or release of its source; the analyst is the person who signed in.

The order of a release is that of the library: charge, read, noise, record, show.  Here are only the steps around it:
what was answered before is given from the ledger, and what costs more than the server allows is refused before that.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, field_validator

from .. import exact
from ..errors import ConflictingParameters, MissingParameter, TooLarge
from ..exact import NANO
from ..ledger.chain import question_key
from ..ledger.entry import Entry, canonical_json
from ..ledger.listing import MOST
from ..measure.cells import Progress
from ..plan.asked import plan_asked
from ..plan.plan import Plan
from ..question.cut import WHOLE
from ..question.sets import MOST_TABLES
from ..question.statistic_json import keys_of, statistic_of, weights_of
from ..release.pipeline import as_recorded, question, unnamed
from ..release.result import Release
from ..release.reuse import known_answer
from ..source import release_planned
from .refusals import Refusal, not_allowed
from .sources import Served

LONGEST = 100_000
"""How long a text of SQL or a condition may be."""

MOST_GROUPS = 10**6
"""How many groups an answer may have: it is sent as one text."""

MOST_LISTED = MOST_TABLES + 100
"""How long a list of keys, tables or weights may be: as many tables as there can be, and columns."""

Amount = StrictStr | StrictInt
"""An exact number: a text such as "0.1", or a whole number; never a float."""

USUAL = 100
"""How many entries of a ledger are listed at once, if nothing is said."""

Before = Annotated[int | None, Query(ge=1, lt=2**63, description="Entries before this one alone.")]
Most = Annotated[int, Query(ge=1, le=MOST, description="How many entries at most, the last ones.")]
"""Which entries of a ledger are listed."""

Text = Annotated[StrictStr, Field(max_length=LONGEST)]


def _refuse_long(given: Any, most: int, depth: int = 5) -> None:
    """Refuse lists of lists that are too long or too deep."""
    inner = list(given.values()) if isinstance(given, dict) else given
    if isinstance(inner, list):
        if len(inner) > most or not depth:
            raise ValueError("too long")  # the client is told which field
        for each in inner:
            _refuse_long(each, most, depth - 1)


class QuestionBody(BaseModel):
    """What is asked: SQL, or statistics with keys and a condition; and ε."""

    model_config = ConfigDict(extra="forbid")

    sql: Text | None = Field(None, description="One SELECT.")
    statistics: list[dict[str, Any]] | None = Field(
        None, description='Instead of SQL, such as [{"statistic": "mean", "column": "cost"}].', max_length=100
    )
    by: Any = Field(None, description='A column, several, or {"tables": [["sex", "age"], []]}.')
    where: Text | None = Field(None, description='A condition, such as "age >= 65".')
    epsilon: Amount | None = Field(None, description='ε, as an exact text such as "0.1".')
    weights: Any = Field(None, description='How ε is split: [["cost", "3"], [["sex", "age"], "4"]].')
    objective: Literal["mean", "minimax", "cells"] = "mean"
    intervals: StrictBool = True
    confidence: Amount = "0.95"

    @field_validator("by", "weights")
    @classmethod
    def check_sizes(cls, given: Any) -> Any:
        """Refuse long lists before anything is done with them."""
        _refuse_long(given, MOST_LISTED)
        return given

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Return what Python's verbs take: the statistics, and the named arguments."""
        named = {
            "by": keys_of(self.by),
            "where": self.where,
            "weights": weights_of(self.weights),
            "objective": self.objective,
            "intervals": self.intervals,
            "confidence": self.confidence,
        }
        if self.sql is not None and self.statistics is not None:
            raise ConflictingParameters("sql", "statistics", "Ask by one of them.")
        if self.sql is not None:
            return [self.sql], named
        if not self.statistics:
            raise MissingParameter("sql", 'Ask by SQL, or by statistics such as [{"statistic": "count"}].')
        return [statistic_of(each) for each in self.statistics], named


class PlanBody(QuestionBody):
    """What is planned: ε, or the errors that are wanted."""

    error: Amount | Annotated[dict[str, Amount], Field(max_length=100)] | None = Field(
        None, description="The error bar that is wanted, instead of ε."
    )
    rows: StrictInt = Field(1000, description="The number of rows of a group to assume.")
    rows_per_person: StrictInt | None = Field(None, description="Plan as if the source declared this.")


class ReleaseBody(QuestionBody):
    """What is released."""

    epsilon: Amount = Field(description='ε, as an exact text such as "0.1".')
    simultaneous: StrictBool = Field(False, description="Error bars that hold for all cells at once.")
    nonnegative: StrictBool = Field(False, description="A view without negative counts: biased.")
    rounded: StrictBool = Field(False, description="With nonnegative and several tables: whole numbers.")
    suppress: StrictBool = Field(False, description="Leave out numbers whose noise is high.")
    record: StrictBool = Field(False, description="Return the noisy integers as the ledger records them, for clients.")


def planned(served: Served, asking: PlanBody) -> dict[str, Any]:
    """Return the plan, as ``lapwing plan --format json`` prints it; no data is read."""
    statistics, named = asking.arguments()
    more: dict[str, Any] = {"error": asking.error, "rows": asking.rows, "rows_per_person": asking.rows_per_person}
    return served.source.plan(*statistics, epsilon=asking.epsilon, **named, **more).to_dict()


class Inquiry:
    """A question to one source by one person, checked: nothing has been charged or read.

    ``token`` is the number of the token by which it is asked; ``counted`` says whose turn it takes.
    """

    def __init__(
        self, served: Served, person: str, asking: ReleaseBody, token: str = "", counted: str | None = None
    ) -> None:
        self.served, self.person, self.asking, self.token = served, person, asking, token
        self.counted = f"{person} {served.name}" if counted is None else counted
        statistics, named = asking.arguments()
        self.plan: Plan = plan_asked(served.schema.anew(), statistics, epsilon=asking.epsilon, **named)
        if self.plan.groups > MOST_GROUPS:
            advice = "Ask for fewer keys at a time, or ask the owner to release it where the table is."
            raise TooLarge("The number of groups", f"{self.plan.groups:,}", f"{MOST_GROUPS:,}", advice)

    @property
    def key(self) -> str:
        """What is equal for equal questions: the key of the ledger, with the name of the source."""
        return key_of(self.served, self.plan.epsilon, question(self.plan))

    @property
    def charged(self) -> Entry | None:
        """The entry by which it was charged before; None if it was not."""
        plan, kept = replace(self.plan, shown=WHOLE), self.served.ledger
        return kept.find(as_recorded(plan, kept), plan.epsilon) if plan.parts else None

    def known(self) -> Release | None:
        """Return the recorded answer, None if there is none; it costs nothing."""
        if not self.plan.parts:
            return None
        release = known_answer(replace(self.plan, shown=WHOLE), self.served.ledger, self.person)
        if release is None:
            return None
        return self._shown(self.served.source.beside(release).at(self.plan.confidence).showing(self.plan.shown))

    def free(self) -> Release | None:
        """Return the answer at no charge: the recorded one, or the public number of rows; None if there is none."""
        return self.known() if self.plan.parts else self.released()

    def check_cost(self, most: Fraction | None) -> None:
        """Refuse a question above the server's ceiling, or of a person without a cap."""
        if not self.plan.parts:
            return
        if most is not None and self.plan.epsilon > most:
            asked, allowed = exact.text(self.plan.epsilon), exact.text(most)
            raise Refusal(
                409, "BudgetExceeded", f"ε = {asked} was asked, and this server allows at most {allowed} for one "
                "question. No row was read and nothing was charged.",
            )  # fmt: skip
        if self.served.cap(self.person) is None:
            raise Refusal(
                409, "BudgetExceeded", f'The ledger of "{self.served.name}" has no cap for you, so you cannot spend. '
                "No row was read and nothing was charged. Ask the owner for a cap.",
            )  # fmt: skip

    def released(self, progress: Progress | None = None) -> Release:
        """Release it as it was planned: charge, read, noise, record."""
        return self._shown(release_planned(self.served.source, self.plan, analyst=self.person, progress=progress))

    def _shown(self, release: Release) -> Release:
        """Return the view that is asked for."""
        asked = self.asking
        return viewed(release, asked.simultaneous, asked.nonnegative, asked.suppress, asked.rounded)

    def answer(self, release: Release) -> dict[str, Any]:
        """Return the answer for JSON: as the command line prints it, or as a client takes it."""
        release = with_left(self.served, release, self.person)
        return recorded(self.served, release) if self.asking.record else release.to_dict()


def key_of(served: Served, epsilon: Fraction, asked: Any) -> str:
    """Return what is equal for equal questions to a source, also as an entry of the ledger has them."""
    return f"{served.name}\n{question_key(int(epsilon * NANO), 0, canonical_json(asked, 'question'))}"


def viewed(release: Release, simultaneous: bool, nonnegative: bool, suppress: bool, rounded: bool = False) -> Release:
    """Return a release in the views that are asked for, one upon the other."""
    made = release.at(simultaneous=simultaneous)
    made = made.nonnegative(rounded=rounded) if nonnegative else made
    return made.suppressed() if suppress else made


def with_left(served: Served, release: Release, person: str) -> Release:
    """Return a release whose remaining ε is what is left to a person: of the cap, or of the total if that is less."""
    cap = served.cap(person)
    if release.remaining is None or cap is None:
        return release
    return replace(release, remaining=min(release.remaining, cap.remaining))


def recorded(served: Served, release: Release) -> dict[str, Any]:
    """Return a release as the ledger records it: noisy integers, and what a client needs to show them.

    The names that somebody gave are that person's words: whoever asks the same again has names of their own.
    """
    entry = None if release.entry is None else served.ledger.entry(release.entry)
    own = entry is None or entry.analyst == release.analyst
    budget = release.budget
    return {
        "source": served.name,
        "entry": release.entry,
        "question": None if entry is None else entry.question,
        "epsilon": exact.text(release.plan.epsilon),
        "answer": dict(release.answer) if own else unnamed(release.answer),
        "analyst": release.analyst,
        "repeated": release.repeated,
        "completed": release.completed,
        "reused": release.plan.released is not None,
        "recorded_at": release.recorded_at,
        "modified_at": release.modified_at,
        "remaining": None if release.remaining is None else exact.text(release.remaining),
        "budget": None if budget is None else budget.to_dict(),
        "head": release.head,
    }


def entry_number(text: str) -> int:
    """Return the number of an entry in an address; there is nothing at any other address."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise not_allowed()
    return int(text)
