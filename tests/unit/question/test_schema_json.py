import pytest

import lapwing as lw
from lapwing.errors import InvalidSource
from lapwing.question.schema_json import schema_of


@pytest.mark.parametrize("on", [[], ["k"]])
def test_a_join_that_lacks_a_name_is_refused_in_our_words(on, tmp_path):
    (tmp_path / "t.csv").write_text("k,x\na,1\n")
    source = lw.Source(str(tmp_path / "t.csv"), name="t", columns={"k": lw.keys("a")})
    join = {"columns": {"k": "k"}, "person": None, "on": on, "file": {}}
    with pytest.raises(InvalidSource, match='"t" has a description that cannot be read'):
        schema_of({**source.describe(), "joins": [join]})
