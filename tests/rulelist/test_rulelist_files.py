from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rulelist_worlds import random_graph, random_model

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulelist import RuleAnswers, RuleModel, is_rule_model, load_rule_model, save_rule_model
from reshuffle.rulelist.links.likelihood import Likelihood
from reshuffle.rulelist.model_text import FILE, model_text, parse_rule_model
from reshuffle.rules import PathRule, Quality

if TYPE_CHECKING:
    from pathlib import Path

MINIMAL = "[model]\nversion\t1\n[rules]\n"


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_in_a_file(seed: int, tmp_path: Path) -> None:
    model = random_model(seed)
    save_rule_model(model, tmp_path / "model")
    read = load_rule_model(tmp_path / "model")
    assert read == model
    assert [one.rule.quality for one in read] == [one.rule.quality for one in model]
    assert model_text(read) == model_text(model)
    graph = random_graph(seed)
    for triple in graph:
        assert RuleAnswers(read, graph).judge(*triple).score == RuleAnswers(model, graph).judge(*triple).score


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("1\t2\t3", "found 3 columns"),
        ("1\t2\t-1\t0", "found '-1'"),
        ("1\t2\t1\t0\nr\t1\t2", "found 3 columns"),
        ("1\t2\t1\t0\nnobody\t1", "no relation 'nobody'"),
        ("1\t2\t1\t0\nr\t1\nr\t2", "a second line"),
    ],
)
def test_a_likelihood_that_cannot_be_read_is_one_error(lines: str, told: str) -> None:
    text = f"[model]\nversion\t1\nrelations\tr\n[likelihood]\n{lines}\n"
    with pytest.raises(InputError, match=told):
        parse_rule_model(text)


def test_a_likelihood_is_kept_in_a_file() -> None:
    likely = Likelihood(1.5, 0.25, 0.0, -2.0, (("s", 1.0), ("r^-1", -0.5)))
    model = replace(random_model(0), likelihood=likely)
    assert parse_rule_model(model_text(model)) == model


def test_qualities_and_strange_names_are_kept() -> None:
    rule = PathRule(("/film/x", 'a "b"\tc^-1'), "r s", Quality(10, 7, 0.4667))
    model = replace(RuleModel.from_rules([rule]), both_ways=frozenset({'a "b"\tc', "r s"}))
    read = parse_rule_model(model_text(model))
    assert read == model
    assert read.both_ways == {'a "b"\tc', "r s"}
    assert read[0].rule.quality == rule.quality
    assert read.relations == ("/film/x", 'a "b"\tc', "r s")


def test_a_model_is_told_by_its_file(tmp_path: Path) -> None:
    assert not is_rule_model(tmp_path)
    path = save_rule_model(random_model(0), tmp_path)
    assert is_rule_model(tmp_path)
    assert is_rule_model(path)
    assert load_rule_model(path) == load_rule_model(tmp_path)


def test_a_line_struck_out_changes_the_answers(tmp_path: Path) -> None:
    model, graph = random_model(1), random_graph(1)
    path = save_rule_model(model, tmp_path)
    text = path.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.endswith(str(model[2].rule)))
    path.write_text(text.replace(line, f"# {line}"), encoding="utf-8")
    read = load_rule_model(tmp_path)
    assert read == model.without(2)
    assert RuleAnswers(read, graph).judge(*next(iter(graph))).score == (
        RuleAnswers(model.without(2), graph).judge(*next(iter(graph))).score
    )


@pytest.mark.parametrize(
    ("line", "weight", "count_weight"),
    [
        ("r(X, Y) -> s(X, Y)", 3.4539, 0.0),  # 1.5 * -log(1 - 0.9)
        ("2.5\tr(X, Y) -> s(X, Y)", 2.5, 0.0),
        ("2.5\t0.25\tr(X, Y) -> s(X, Y)", 2.5, 0.25),
        ("10\t5\t0.5\tr(X, Y) -> s(X, Y)", 1.0397, 0.0),  # 1.5 * -log(1 - 0.5)
        ("2\t0.5\t10\t5\t0.5\tr(X, Y) -> s(X, Y)", 2.0, 0.5),
        ("-\t-\t10\t5\t1\tr(X, Y) -> s(X, Y)  # by hand", 10.3616, 0.0),  # at most 0.999
        ("-\t-\t-\t-\t-\tr(X, Y) -> s(X, Y)", 3.4539, 0.0),
    ],
)
def test_a_person_may_add_a_line(line: str, weight: float, count_weight: float) -> None:
    model = parse_rule_model(f"[model]\nversion\t1\nscales\t1.5\t1\t1\n[rules]\n{line}\n")
    assert [(one.weight, one.count_weight) for one in model] == [(weight, count_weight)]
    assert set(model.relations) == {"r", "s"}
    answers = RuleAnswers(model, KnowledgeGraph([("a", "r", "b"), ("c", "r", "d")]))
    assert answers.tails("a", "s", top=1) == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r(X, Y) -> s(X, Y)\n", "m:1:1: found a line before the first section"),
        ("[rulez]\n", "m:1:1: there is no section '[rulez]'; did you mean 'rules' or 'roles'?"),
        ("[rules]\n[rules]\n", "m:2:1: a second section [rules]"),
        ("[rules]\n", "m: found no version of a rule model, expected 2"),
        ("[model]\nversion\t3\n", "m: found the version 3 of a rule model, expected 2"),
        (MINIMAL + "x\tr(X, Y) -> s(X, Y)\n", "m:4:1: found 'x', expected a number"),
        (MINIMAL + "nan\tr(X, Y) -> s(X, Y)\n", "m:4:1: found 'nan', expected a number"),
        (MINIMAL + "-1\tr(X, Y) -> s(X, Y)\n", "m:4:1: found the weight -1.0 of r(X, Y) -> s(X, Y)"),
        (MINIMAL + "1\t1\t1\t1\tr(X, Y) -> s(X, Y)\n", "m:4:1: found 4 numbers before the rule"),
        (MINIMAL + "1\tr(X, Y) -> \n", "m:4:14: missing head"),
        (MINIMAL + "1\tr(X, Y) & s(X, Z) -> t(Y, Z)\n", None),
        (MINIMAL + "1\tr(X, Y) & s(Z, Z1) -> t(X, Z1)\n", "m:4:"),
        (MINIMAL + "r(X, Y) -> r(X, Y)\n", "m:4:1: this is not a rule"),
        (MINIMAL + "r(X, Y) & s(X, Y) -> false\n", "m:4:1: this is not a rule"),
        (MINIMAL + "1\tr(X, Y) -> s(X, Y)\n2\tr(X, Y) -> s(X, Y)\n", "m:5:1: the same rule stands in line 4"),
        (MINIMAL + "[distances]\nr\t1\t2\n", "m:5:1: found 2 numbers, expected 8"),
        (MINIMAL + "[types]\nr\t1\t2\t3\n", "m:5:1: the model has no relation 'r'"),
        ("[model]\nversion\t1\nscales\t1\n", "m:3:1: found 1 scales, expected 3"),
        ("[model]\nversion\t1\nrelations\tr\nboth_ways\ts\n", "m:4:1: the model has no relation 's'"),
        ("[model]\nversion\t1\nrelations\tr\n[roles]\nr\tr\n", "m:5:1: found 2 columns"),
        ("[model]\nversion\t1\nrelations\tr\n[types]\nr\t1\t2\tx\n", "m:5:7: found 'x', expected a number"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, message: str | None) -> None:
    if message is None:
        assert len(parse_rule_model(text, file="m")) == 1
        return
    with pytest.raises(InputError) as raised:
        parse_rule_model(text, file="m")
    assert str(raised.value).startswith(message)
    assert raised.value.hint or "version" in message or "closed" in str(raised.value)


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"there is no {FILE}"):
        load_rule_model(tmp_path)
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        load_rule_model(tmp_path)
