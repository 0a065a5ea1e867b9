"""What notebooks show: every result, short, with its names as text, and loading nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reshuffle as rs
from reading_pictures import HOSTILE, SHOWN_HOSTILE, page_texts, svg_texts
from reshuffle.evaluation import RuleBaseline
from reshuffle.extraction import extract_rules
from reshuffle.learning.training.history import Epoch, Glance, History
from reshuffle.pictures.charts import bars, curves
from reshuffle.pictures.markup import page, sortable, table_html
from reshuffle.pictures.svg import svg_of
from reshuffle.rules import PathRule, Quality, RuleBase

if TYPE_CHECKING:
    from pathlib import Path

RULES = RuleBase((PathRule((HOSTILE, "r"), "s", Quality(10, 8, 0.8)),))
FACTS = rs.KnowledgeGraph([("a", HOSTILE, "b"), ("b", "r", HOSTILE), ("x", "s", "y")])
QUICK = {"num_slots": 3, "num_layers": 2, "epoch_steps": 2, "max_epochs": 2, "look_every": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One of every kind of result, all about a relation with a hostile name."""
    model = rs.RuleModel.from_rules(RULES)
    soft = rs.Reshuffle(**QUICK).fit(FACTS, valid=[("a", "s", HOSTILE)])
    reasoned = rs.Reasoner(RULES).on(FACTS)
    return {
        "graph": FACTS,
        "rules": RULES,
        "geometry": reasoned,
        "bounded": rs.Reasoner(RULES, bound=2).on(FACTS),
        "chase": rs.Reasoner(RULES, engine="chase").on(FACTS),
        "proof": reasoned.explain("a", "s", HOSTILE),
        "no proof": reasoned.explain(HOSTILE, "s", "a"),
        "rule model": model,
        "rule answers": model.on(FACTS),
        "rule predictions": model.on(FACTS).predict(head="a", relation="s"),
        "sum": model.on(FACTS).explain("a", "s", HOSTILE),
        "soft answers": soft.on(FACTS),
        "predictions": soft.on(FACTS).predict(head="a", relation=HOSTILE, known="mark"),
        "explanation": soft.on(FACTS).explain("a", "s", HOSTILE),
        "extracted": extract_rules(rs.Reasoner(RULES).constraints, on=FACTS),
    }


NAMED = [
    "graph", "rules", "geometry", "bounded", "chase",
    "proof", "no proof", "rule model", "rule answers", "rule predictions",
    "sum", "soft answers", "predictions", "explanation", "extracted",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_hostile_names_are_text(results: dict[str, Any], name: str) -> None:
    shown = results[name]._repr_html_()
    texts = " ".join(page_texts(shown))
    assert SHOWN_HOSTILE in texts or SHOWN_HOSTILE.replace('"', '\\"') in texts
    assert "<img" not in shown and "\u202e" not in shown


def test_a_large_graph_is_shown_in_short() -> None:
    graph = rs.KnowledgeGraph([(f"e{n}", f"r{n % 50}", "x") for n in range(1_000)])
    texts = page_texts(graph._repr_html_())
    assert "KnowledgeGraph: 1,000 triples, 1,001 entities, 50 relations" in texts
    assert "and 30 more" in texts and texts.count("20") == 20


def test_many_rules_are_shown_in_short() -> None:
    rules = RuleBase(tuple(PathRule((f"b{n}",), f"h{n}") for n in range(100)))
    texts = page_texts(rules._repr_html_())
    assert "100 rules of 200 relations" in texts and "and 80 more" in texts
    assert "b19(X, Y) -> h19(X, Y)" in texts and "b20(X, Y) -> h20(X, Y)" not in texts
    assert "and 80 more" in page_texts(rs.RuleModel.from_rules(rules)._repr_html_())


@pytest.mark.parametrize(
    ("length", "told"), [(4, None), (20, "and 161 more"), (300, "and more than 990 more")]
)
def test_derived_triples_are_followed_for_a_while(length: int, told: str | None) -> None:
    facts = [(f"e{n}", "r", f"e{n + 1}") for n in range(length - 1)]
    answers = rs.Reasoner(rs.parse_rules("r(X, Y) & r(Y, Z) -> r(X, Z)")).on(rs.KnowledgeGraph(facts))
    texts = page_texts(answers._repr_html_())
    assert told in texts if told else not any("more" in text for text in texts)
    assert page_texts(rs.Reasoner(RULES).on(rs.KnowledgeGraph([("a", "r", "b")]))._repr_html_())[-1] == (
        "nothing is derived"
    )


def report() -> Any:
    facts = rs.KnowledgeGraph(
        [("ada", "bornIn", "uk"), ("bob", "bornIn", "italy"), ("eve", "livesIn", "italy")]
    )
    rules = RuleBase((PathRule(("bornIn",), "livesIn", Quality(10, 8, 0.8)),))
    asked = [("ada", "livesIn", "uk"), ("bob", "livesIn", "italy"), ("eve", "bornIn", "italy")]
    return rs.evaluate(RuleBaseline(rules).on(facts), asked, protocol="full")


def test_a_report_shows_its_numbers_and_the_baseline() -> None:
    texts = page_texts(report()._repr_html_())
    assert {"full: 3 queries, both sides", "type baseline", "hits@10", "mrr", "metrics"} <= set(texts)


def test_a_report_by_relation_adds_up_to_the_whole() -> None:
    found = report()
    rows = found.by_relation()
    assert [(row["relation"], row["triples"]) for row in rows] == [("livesIn", 2), ("bornIn", 1)]
    for column, whole in (("mrr", found["mrr"]), ("mrr, type baseline", found.baseline.metrics["mrr"])):
        assert sum(row[column] * row["triples"] for row in rows) / 3 == pytest.approx(whole)


def test_a_training_shows_its_curves(results: dict[str, Any]) -> None:
    history = History([Epoch(n, 1 / n, n / 10 if n % 2 == 0 else None, n / 20) for n in range(1, 9)], 8)
    texts = page_texts(history._repr_html_())
    assert {"training: 8 epochs, epoch 8 kept", "loss", "validation", "hits@10", "mrr", "epoch"} <= set(texts)
    assert history.curves()["validation"]["hits@10"][0] == (2, 0.2)
    history.glances.append(Glance(step=40, mrr=0.1, hits_at_10=0.3, mrr_error=0.1, hits_error=0.1))
    assert {"validation along the way", "step"} <= set(page_texts(history._repr_html_()))
    assert page_texts(History()._repr_html_()).count("nothing yet") == 2


def test_a_training_is_read_while_it_runs(tmp_path: Path) -> None:
    split = rs.KnowledgeGraph([(f"e{n}", "r", f"e{n + 1}") for n in range(12)])
    seen: list[History] = []

    def look(_epoch: object) -> None:
        seen.append(History.read(tmp_path))

    model = rs.Reshuffle(**QUICK).fit(split, directory=tmp_path, after_epoch=look)
    assert [len(history.epochs) for history in seen] == [1, 2]
    assert model.history is not None and seen[-1].epochs == model.history.epochs
    assert page_texts(model._repr_html_())
    with (tmp_path / "log.csv").open("a", encoding="utf-8") as file:
        file.write("3,0.12")  # the rest of the line is still to come
    assert len(History.read(tmp_path).epochs) == 2


def test_a_directory_without_a_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rs.ReshuffleError) as caught:
        History.read(tmp_path)
    assert (
        str(caught.value) == f"{tmp_path}: there is no log.csv\n  hint: name a directory that train writes to"
    )


# --- plots and tables ----------------------------------------------------------------------------------------------


def test_curves_stay_in_the_picture_and_leave_out_what_is_no_number() -> None:
    points = [(n, float(np.sin(n))) for n in range(1, 5_000)] + [(5_000, float("nan")), (5_001, float("inf"))]
    scene = curves("sine", {"sin": points, HOSTILE: [(1, 0.5)]}, across="epoch")
    assert SHOWN_HOSTILE in svg_texts(svg_of(scene))
    drawn = [shape for shape in scene.shapes if getattr(shape, "strong", False)]
    assert len(drawn) == 1 and 400 < len(drawn[0].points) <= 1_000  # type: ignore[union-attr]
    for x, y in drawn[0].points:  # type: ignore[union-attr]
        assert 0 <= x <= scene.width and 0 <= y <= scene.height


@pytest.mark.parametrize("values", [[1.0], [0.0, 0.0], [-3.0, -3.0], [1e-9, 2e-9], [5e8, 9e8]])
def test_any_values_have_axes(values: list[float]) -> None:
    svg_texts(svg_of(curves("plot", {"a": list(enumerate(values, start=1))}, across="epoch")))


def test_bars_are_as_long_as_their_values() -> None:
    scene = bars("metrics", [("hits@10", [0.5, 1.0]), ("mrr", [0.25, None])], ["model", HOSTILE])
    widths = [shape.width for shape in scene.shapes if getattr(shape, "full", "").endswith(("0", "5"))]  # type: ignore[union-attr]
    assert widths[1] == 2 * widths[0] == 4 * widths[2]
    assert {"0.500", "1.000", "0.250", SHOWN_HOSTILE} <= set(svg_texts(svg_of(scene)))


def test_a_table_keeps_the_numbers_to_sort_by() -> None:
    shown = table_html(["name", "score"], [["b", 0.12345], ["a", None]])
    assert 'data-value="0.12345">0.123<' in shown and 'data-value=""' in shown
    assert sortable(shown).startswith('<table class="sortable">')


def test_a_page_says_that_it_may_load_nothing() -> None:
    made = page(HOSTILE, sortable(table_html(["name"], [[HOSTILE]])))
    assert page_texts(made).count(SHOWN_HOSTILE) == 3  # the title, the heading and the cell
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', made)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
