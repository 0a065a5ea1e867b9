"""Lines of `model.rules` that nothing would read are refused, with the line and what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reshuffle.errors import InputError
from reshuffle.rulelist import load_rule_model
from reshuffle.rulelist.model_text import parse_rule_model

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "[model]\nversion\t1\nrelations\tr\ts\n{}\n[rules]\n{}\n[roles]\n{}\n"


@pytest.mark.parametrize(
    ("setting", "rule", "role", "expected"),
    [
        ("lops\tr", "", "", "m:4:1: there is no setting 'lops'; did you mean 'loops'?"),
        ("both ways\tr", "", "", "there is no setting 'both ways'; did you mean 'both_ways'?"),
        ("loops r", "", "", "there is no setting 'loops r'; did you mean 'loops'?"),
        ("loops\tq", "", "", "the model has no relation 'q'"),
        ("version\t1", "", "", "a second line `version`"),
        ("scales\t1\t-1\t1", "", "", "found '-1', expected a number from 0 to 1e+09"),
        ("", "1e308\tr(X, Y) -> s(X, Y)", "", "found '1e308', expected a number from -1e+09 to 1e+09"),
        ("", "2\t1e308\tr(X, Y) -> s(X, Y)", "", "found '1e308', expected a number"),
        ("", "", "r\ts\t-0.5", "found '-0.5', expected a number from 0 to 1"),
        ("", "", "r\ts\t1.5", "found '1.5', expected a number from 0 to 1"),
    ],
)
def test_what_would_be_passed_over_or_overflow_is_refused(
    setting: str, rule: str, role: str, expected: str
) -> None:
    with pytest.raises(InputError) as found:
        parse_rule_model(MODEL.format(setting, rule, role), file="m")
    assert expected in str(found.value)
    assert found.value.hint


@pytest.mark.parametrize("line", ["relations\tr\t", "relations\tr\t\ts", "relations\t"])
def test_a_relation_without_a_name_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(InputError) as found:
        parse_rule_model(f"[model]\nversion\t1\n{line}\n", file="m")
    assert str(found.value).startswith("m:3:") and "found a relation without a name" in str(found.value)


def test_a_weight_that_a_scale_makes_too_large_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="m:6:1: found the weight 2302585092"):
        parse_rule_model(MODEL.format("scales\t1e9\t1\t1", "r(X, Y) -> s(X, Y)", ""), file="m")


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    text = MODEL.format("", "2\tr(X, Y) -> s(X, Y)", "")
    (tmp_path / "model.rules").write_text(text, encoding="utf-8-sig")
    assert load_rule_model(tmp_path).rules[0].weight == 2
    assert parse_rule_model("\ufeff" + text).rules[0].weight == 2
