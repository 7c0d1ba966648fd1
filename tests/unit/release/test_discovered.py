import pytest

import lapwing as lw
from lapwing.errors import AnswerLost
from lapwing.ledger.ledger import Ledger
from lapwing.question.schema import make_schema
from lapwing.release.discover import discovered, plan_keys


@pytest.mark.parametrize("answer", [None, {}, {"keys": ["a"]}, {"keys": ["a"], "counts": None}, {"counts": []}])
def test_a_recorded_answer_without_keys_or_counts_is_refused(answer, tmp_path):
    schema = make_schema("t", {"k": lw.keys("a", "b")}, None, None, "add_remove", None)
    ledger = Ledger.open(tmp_path / "t.ledger", 10, "0.5")
    entry = ledger.charge("keys", 1, "0.01")
    ledger.record(entry, answer)
    with pytest.raises(AnswerLost, match="does not fit its question"):
        discovered(plan_keys(schema, "k", epsilon=1, delta="0.01"), ledger, ledger.entry(entry.number), None)
