import inspect
import pickle

import numpy as np
import pytest

from lapwing import errors

EXAMPLES = [
    (
        errors.InvalidEpsilon("abc"),
        'ε = "abc" was asked; ε is a decimal with at most nine places, 0 < ε ≤ 1000, such as 0.1. No noise was drawn '
        "and nothing was charged. Smaller ε protects more: 0.1 to 1 is usual.",
    ),
    (
        errors.InvalidEpsilon(-1.5),
        "ε = -1.5 was asked; ε is a decimal with at most nine places, 0 < ε ≤ 1000, such as 0.1. No noise was drawn "
        "and nothing was charged. Smaller ε protects more: 0.1 to 1 is usual. A float is rounded down "
        "to nine places; a Decimal or a fraction such as 1/3 must be rounded first.",
    ),
    (
        errors.InvalidSensitivity(0),
        "Sensitivity 0 was asked; a sensitivity is a positive number from 2^-900 to 2^900, such as 1 or 0.12. No noise "
        "was drawn and nothing was charged. `lapwing sensitivity` lists the known ones; an answer that no person "
        "can change needs no noise.",
    ),
    (
        errors.InvalidScale(-1, False),
        "Noise scale -1 was asked; a scale is a positive number from 2^-1000 to 2^1000, such as 10, 0.5 or 1/3. No "
        "noise was drawn and nothing was charged. The scale of the Laplace mechanism is sensitivity/ε.",
    ),
    (
        errors.InvalidScale(2**51, True),
        "Noise scale 2251799813685248 was asked; a scale is a positive number from 2^-1000 to 2^50 for an array, such "
        "as 10, 0.5 or 1/3. No noise was drawn and nothing was charged. The scale of the Laplace mechanism is "
        "sensitivity/ε.",
    ),
    (
        errors.InvalidBounds(2, 1),
        "Bounds 2 to 1 were asked; bounds are two numbers with low < high, at most 2^900 in size. No noise was drawn "
        "and nothing was charged. Take bounds from what the column means, never from the data.",
    ),
    (
        errors.InvalidConfidence(95),
        "Probability 95 was asked; it lies between 0 and 1, such as 0.95, and at least 10^-300 from both. No noise was "
        "drawn and nothing was charged.",
    ),
    (
        errors.InvalidParameter(0, "n", "a whole number, 1 or larger"),
        "n = 0 was asked; n is a whole number, 1 or larger. No noise was drawn and nothing was charged.",
    ),
    (
        errors.InvalidBounds("0.5", "0.7", "bounds of an integer column are two whole numbers, at most 2^53 in size"),
        'Bounds "0.5" to "0.7" were asked; bounds of an integer column are two whole numbers, at most 2^53 in size. No '
        "noise was drawn and nothing was charged. Take bounds from what the column means, never from the data.",
    ),
    (
        errors.MissingParameter("epsilon", "Give the ε of the release."),
        "Nothing was given for epsilon. No noise was drawn and nothing was charged. Give the ε of the release.",
    ),
    (
        errors.ConflictingParameters("epsilon", "error", "Leave one of them out."),
        "epsilon and error were both given, and only one of them is possible. No noise was drawn and nothing was "
        "charged. Leave one of them out.",
    ),
    (
        errors.UselessParameter("engine", "none of these checks looks at engines", "Leave it out."),
        "engine was given, but none of these checks looks at engines. No noise was drawn and nothing was charged. "
        "Leave it out.",
    ),
    (
        errors.TooLarge("The number of statistics", "200", "100", "Ask in two releases."),
        "The number of statistics is 200, and at most 100 is possible. No noise was drawn and nothing was charged. Ask "
        "in two releases.",
    ),
    (
        errors.OutOfReach(0.001, 1000, "Ask for a larger error."),
        "An error of 0.001 was asked; even ε = 1000 does not reach it. No noise was drawn and nothing was charged. Ask "
        "for a larger error.",
    ),
    (
        errors.InvalidAddress("table", "Write postgresql://user@host/database#table."),
        "The address of the table cannot be used; it is not shown, since it may hold a password. No noise was drawn "
        "and nothing was charged. Write postgresql://user@host/database#table.",
    ),
    (
        errors.InvalidRequest("Entry 4 has no answer yet", "Ask the same question again, at no charge."),
        "Entry 4 has no answer yet. No noise was drawn and nothing was charged. Ask the same question again, at no "
        "charge.",
    ),
    (
        errors.InvalidSize(-1),
        "Size -1 was asked; a size is a whole number, 0 or larger, or a tuple of them, that memory can hold. "
        "No noise was drawn and nothing was charged.",
    ),
    (
        errors.InvalidValue("not finite", "Decide by a public rule what a missing value counts as, then ask again."),
        "A value was given that is not finite. No noise was drawn and nothing was charged. Decide by a public rule "
        "what a missing value counts as, then ask again.",
    ),
    (
        errors.NoLedger("visits.ledger"),
        'There is no ledger at "visits.ledger". Nothing was charged. If there was one, restore a backup before '
        "anything is released: a new ledger would begin with the full budget. If there was none, make one with the "
        "total ε that may ever be spent: `lapwing ledger FILE create --epsilon 2`, or Ledger.open(…, epsilon=2).",
    ),
    (
        errors.NoLedger("visits.ledger", "visits", None),
        'Source "visits" gives no total ε, the ε that may ever be spent: give it, for example by '
        "lw.Source(…, epsilon=1) in Python, or by the line epsilon = 1 in a source file. There is no ledger at "
        '"visits.ledger". Nothing was charged. If there was one, restore a backup before anything is released: a new '
        "ledger would begin with the full budget.",
    ),
    (
        errors.NoLedger("/srv/a folder with a name that is long/another one/visits.ledger", "visits", "3"),
        'There is no ledger at "/srv/a folder with a name that is long/another one/visits.ledger". Nothing was '
        "charged. If there was one, restore a backup before anything is released: a new ledger would begin with the "
        "full budget. If there was none, the first release makes one with ε = 3.",
    ),
    (
        errors.UnknownArgument("group_by", "release", "by", ("by", "where")),
        'release has no argument group_by (it has by, where). Did you mean "by"? No noise was drawn and nothing was '
        "charged.",
    ),
    (
        errors.UnknownName("cuont", "The release", ("ward", "count")),
        'The release has nothing named "cuont" (it has ward, count). Did you mean "count"?',
    ),
    (
        errors.BudgetExceeded("0.5", "0.3", "2", "ε", 'ledger "visits"', "visits"),
        'This release asks for ε = 0.5, and ledger "visits" has 0.3 left of 2. No row was read and nothing was '
        "charged. Ask for ε ≤ 0.3, or see `lapwing ledger visits`.",
    ),
    (
        errors.LedgerError("visits", "is busy: another process holds it", "Try again."),
        'Ledger "visits" is busy: another process holds it. Nothing was granted. Try again.',
    ),
    (
        errors.AnswerLost("visits", "has an answer that was lost", "Ask another version of it."),
        'Ledger "visits" has an answer that was lost. Nothing was granted. Ask another version of it.',
    ),
    (
        errors.UnknownHead("visits"),
        'This head is not in the ledger "visits": the ledger was rolled back or rewritten, or the head is of another '
        "ledger. Nothing was granted. Compare the head with the one that you kept; if it is the same, restore the "
        "ledger from a copy.",
    ),
    (
        errors.NoSensitivity("meen", ("count", "mean")),
        'The catalogue of sensitivities has no "meen" (it has count, mean). Did you mean "mean"? No noise was drawn '
        "and nothing was charged. Prove a bound of your own and give it to the mechanism: any upper bound is safe.",
    ),
    (
        errors.InvalidSource("visits", "names no table", "Write one."),
        'Source "visits" names no table. No row was read and nothing was charged. Write one.',
    ),
    (
        errors.UnknownColumn("wardd", "visits", ("ward", "cost")),
        '"wardd" is not a declared column of "visits" (ward, cost). Did you mean "ward"? No row was read and nothing '
        "was charged.",
    ),
    (
        errors.UnsupportedQuery("HAVING", "Filter the answer."),
        "The query has HAVING, which cannot be released. No row was read and nothing was charged. Filter the answer.",
    ),
    (
        errors.MissingLibrary("altair"),
        "altair is needed for this and is not installed. Install it: pip install altair",
    ),
    (
        errors.MissingLibrary("psycopg", "postgres"),
        "psycopg is needed for this and is not installed. Install it: pip install '.[postgres]' in the folder of "
        "Lapwing's clone",
    ),
    (
        errors.EngineError("visits", "could not be opened", "Nothing was charged.", "The file is missing."),
        'The table of "visits" could not be opened. Nothing was charged. The file is missing.',
    ),
    (
        errors.CannotDeclare('No key of "ward" reached the threshold of 20 people', "Ask with a larger ε."),
        'No key of "ward" reached the threshold of 20 people. What was charged stays charged. Ask with a larger ε.',
    ),
    (
        errors.OutputError("a.csv", 4),
        '"a.csv" could not be written. The answer is recorded as entry 4: ask again, at no charge.',
    ),
    (errors.NotSignedIn(), "A valid token is needed. Nothing was read and nothing was charged."),
    (errors.NotAllowed(), "There is nothing here that you may use. Nothing was read and nothing was charged."),
    (errors.ServerError("The server cannot be reached", "Try again."), "The server cannot be reached. Try again."),
    (
        errors.AccessError("a.sqlite", "is busy: another process holds it", "Try again."),
        'The record of people and tokens "a.sqlite" is busy: another process holds it. Try again.',
    ),
]


def test_an_error_that_a_server_tells_is_the_error_of_that_name():
    told = errors.as_told("BudgetExceeded", "Nothing is left.")
    assert isinstance(told, errors.BudgetExceeded)
    assert type(told).__name__ == "BudgetExceeded"
    assert str(told) == str(pickle.loads(pickle.dumps(told))) == "Nothing is left."
    for other in ("NoSuchError", "__builtins__", "quote", "", "Number"):
        assert isinstance(errors.as_told(other, "x"), errors.ServerError)
    assert isinstance(errors.as_told("UnknownName", "x"), KeyError)


@pytest.mark.parametrize(("error", "message"), EXAMPLES, ids=lambda e: type(e).__name__)
def test_each_message_by_its_full_text(error, message):
    assert str(error) == message


@pytest.mark.parametrize("error", [e for e, _ in EXAMPLES], ids=lambda e: type(e).__name__)
def test_an_error_survives_pickling_with_its_message(error):
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_tree_in_the_docstring_is_the_tree():
    names = {n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, errors.LapwingError)}
    drawn = {word for word in errors.__doc__.split() if word in names}
    assert drawn == names
    assert {type(e).__name__ for e, _ in EXAMPLES} == names - {"LapwingError", "RequestError"}
    assert issubclass(errors.RequestError, ValueError)


@pytest.mark.parametrize(
    ("error", "comma"),
    [
        (errors.InvalidEpsilon("0,5"), True),
        (errors.InvalidEpsilon("0.5.5"), False),
        (errors.InvalidSensitivity(",5"), True),
        (errors.InvalidScale("-1,25 ", False), True),
        (errors.InvalidBounds("0", "1,5"), True),
        (errors.InvalidConfidence("0,95"), True),
        (errors.InvalidParameter("1,5", "weight", "a positive number"), True),
        (errors.InvalidParameter("F,M", "of", "one of F, M"), False),
    ],
)
def test_a_number_with_a_comma_is_told_the_decimal_mark(error, comma):
    assert ("The decimal mark is a dot, as in 0.5." in str(error)) == comma
    assert "  " not in str(error)


def test_T24_an_array_given_by_mistake_is_not_printed():
    secret = np.array([123456.5])
    assert "123456" not in str(errors.InvalidEpsilon(secret))
    assert "123456" not in str(errors.InvalidScale([123456.5], False))
    for error in (errors.InvalidSensitivity(secret), errors.InvalidBounds(0, secret), errors.InvalidSize(secret)):
        assert "123456" not in repr(error) + repr(error.args) + str(error)
    assert len(str(errors.InvalidEpsilon("9" * 10_000))) < 400
    assert "a number of 16610 bits" in str(errors.InvalidEpsilon(10**5000))
    assert "Size (2, -1) was asked" in str(errors.InvalidSize((2, -1)))
