"""Names that are words of SQL."""

import keyword

import pytest
import sqlglot
from sqlglot.parser import Parser
from sqlglot.tokens import Tokenizer

from lapwing.errors import UnsupportedQuery
from lapwing.question.condition import parsed
from lapwing.question.words import name_in_sql, name_without_quotes


def test_every_word_of_sql_is_a_name_when_it_is_written_as_told():
    words = {
        each.lower()
        for each in (*Tokenizer.KEYWORDS, *keyword.kwlist, *Parser.NO_PAREN_FUNCTION_PARSERS)
        if each.isidentifier()
    }
    assert len(words) > 200
    for word in words:
        name = name_in_sql(word)
        tree = parsed(f"SELECT {name}, MEDIAN({name}) FROM t WHERE {name} > 3 GROUP BY {name}")
        assert tree.expressions[0] == sqlglot.exp.column(word, quoted=name != word), word


@pytest.mark.parametrize(
    "text",
    ["SELECT station, MEDIAN(alter) FROM t", "SELECT MEDIAN(alter), SUM(alter) FROM t WHERE alter > 3"],
)
def test_the_refusal_names_the_word_that_needs_quotes(text):
    with pytest.raises(UnsupportedQuery, match='`alter` is a word of SQL: write "alter"'):
        parsed(text)


@pytest.mark.parametrize(
    "text", ["SELECT (", "SELECT COUNT(*) FROM t WHERE", "SELECT 'a FROM t", "SELECT COUNT(*) FROM"]
)
def test_a_text_that_is_wrong_otherwise_names_no_word(text):
    assert name_without_quotes(text) is None
    with pytest.raises(UnsupportedQuery, match="not valid SQL"):
        parsed(text)
