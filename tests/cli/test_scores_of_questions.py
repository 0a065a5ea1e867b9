"""A score answers a question: what `predict` prints for one is what `explain` and the explorer print for the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.rulelist.rulelist_worlds import RELATIONS, random_graph

from reshuffle import KnowledgeGraph, Reshuffle
from reshuffle.cli.main import main
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.soft_models import SoftModelSubject
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.entity_page import predictions_page
from reshuffle.explorer.views.why_page import why_page
from reshuffle.rulelist import load_rule_model

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.explorer.subject import RankedWorld

FACTS = random_graph(3, facts=40)
KINDS = ("rule list", "soft model")
SIDES = ("tail", "head")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scored")
    FACTS.write(made / "facts.tsv")
    fast = ["--set", "num_slots=4", "--set", "num_layers=2", "--set", "max_epochs=2"]
    facts = str(made / "facts.tsv")
    assert main(["-q", "train", facts, "-o", str(made / "rule list"), "--recipe", "rules"]) == 0
    assert main(["-q", "train", facts, "-o", str(made / "soft model"), *fast]) == 0
    return made


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, statuses: tuple[int, ...] = (0, 1)) -> str:
    assert main([*arguments]) in statuses
    return capsys.readouterr().out


def score_said(text: str, *, to: str) -> str:
    """The score that an explanation names for a question."""
    first = text.splitlines()[0]
    found = re.search(rf"(-?[\d.]+) (?:as an answer )?to {re.escape(to)}", first)
    if found is None:  # both are the same
        found = re.search(r"score (-?[\d.]+)", first)
    assert found is not None, first
    return found[1]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_predict_and_explain_print_the_same_score_for_the_same_question(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, side: str
) -> None:
    model, facts = str(folder / kind), str(folder / "facts.tsv")
    chance, differ = np.random.default_rng(5), 0
    for entity in chance.choice(list(FACTS.entities), 3, replace=False):
        relation = str(chance.choice(RELATIONS))
        ends = ["--head" if side == "tail" else "--tail", str(entity)]
        asked = [
            model,
            facts,
            "--relation",
            relation,
            *ends,
            "--reasons",
            "0",
            "--known",
            "mark",
            "--top",
            "50",
        ]
        told = printed(capsys, "-q", "predict", *asked)
        question = f"({entity}, {relation}, ?)" if side == "tail" else f"(?, {relation}, {entity})"
        assert told.splitlines()[-1] == f"scores as answers to {question}"
        rows = json.loads(printed(capsys, "-q", "--json", "predict", *asked))["predictions"]
        table = told.splitlines()[-len(rows) - 1 : -1]
        for row, line in [*zip(rows, table, strict=True)][:4]:
            triple = [row["head"], row["relation"], row["tail"]]
            assert row["side"] == side
            why = printed(capsys, "-q", "explain", model, facts, *triple, "--side", side)
            score = score_said(why, to=question)
            assert score == f"{row['score']:.3f}" and score in line.split()
            plain = printed(capsys, "-q", "explain", model, facts, *triple)
            assert score_said(plain, to=question) == score  # it names both questions
            data = json.loads(
                printed(capsys, "-q", "--json", "explain", model, facts, *triple, "--side", side)
            )
            assert (data["side"], data["score"]) == (side, data["scores"][side])
            assert data["score"] == pytest.approx(row["score"], abs=1e-6)
            differ += f"{data['scores']['head']:.3f}" != f"{data['scores']['tail']:.3f}"
    assert differ  # else the test says nothing


def world_of(folder: Path, kind: str) -> RankedWorld:
    source = Source("letters", KnowledgeGraph.read(folder / "facts.tsv"))
    if kind == "rule list":
        return RuleListSubject(load_rule_model(folder / kind), source).as_given
    return SoftModelSubject(Reshuffle.load(folder / kind), source).as_given


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("relation", [None, "s"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_pages_show_the_score_of_the_question(
    folder: Path, kind: str, side: str, relation: str | None
) -> None:
    world: Any = world_of(folder, kind)
    given = {"head": "a", "tail": None} if side == "tail" else {"head": None, "tail": "a"}
    rows = predictions_page(world, **given, relation=relation)["predictions"]
    assert rows
    for row in rows[:5]:
        triple = row["head"], row["relation"], row["tail"]
        told = why_page(world, triple, side=row["side"])["explanation"]
        assert told["side"] == row["side"] == side
        assert told["score"] == pytest.approx(row["score"], abs=1e-5)
        again = world.scorer.explain(*triple, side="head" if side == "tail" else "tail")
        assert again.scores[side] == pytest.approx(row["score"], abs=1e-5)


def test_a_side_that_is_none_and_a_side_of_what_follows_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "my.rules"
    rules.write_text("r(X, Y) -> s(X, Y)\n")
    assert main(["explain", str(rules), str(folder / "facts.tsv"), "a", "s", "b", "--side", "head"]) == 2
    assert "--side is for scores" in capsys.readouterr().err
