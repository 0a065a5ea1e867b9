"""Answers of all kinds can be copied, pickled and sent to processes; a copy is independent of what it was made from."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import reshuffle as rs
from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.rulelist import RuleModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RULES = parse_rules("r(X, Y) -> t(X, Y)\nt(X, Y) & r(Y, Z) -> t(X, Z)")
FACTS = [(f"e{number}", "r", f"e{number + 1}") for number in range(6)]
MORE = [("e6", "r", "e7")]
ONTOLOGY = """@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:r rdfs:subPropertyOf e:t . e:r rdfs:domain e:A . e:A rdfs:subClassOf e:B .
"""


def stored(graph: KnowledgeGraph) -> Any:
    answers: Any = Reasoner(RULES).on(graph)
    answers.materialise()
    return answers


def of_classes(graph: KnowledgeGraph, folder: Path) -> Any:
    (folder / "o.ttl").write_text(ONTOLOGY)
    return Reasoner(rs.read_rules(folder / "o.ttl")).on(graph)


def theory(graph: KnowledgeGraph, folder: Path) -> Any:
    (folder / "r.rules").write_text(str(RULES.rules[0]) + "\n")
    answers = rs.load(folder / "r.rules").on(graph, progress=_UnpicklableProgress())
    answers.count()
    return answers


class _UnpicklableProgress:
    """Somebody's progress bar, which no process can be sent."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from reshuffle.progress import SILENT

        return SILENT(*arguments, **options)

    def __reduce__(self) -> Any:
        raise TypeError("a progress bar")


def model(graph: KnowledgeGraph, folder: Path) -> Any:
    pytest.importorskip("torch")
    learner = rs.Reshuffle(num_slots=3, num_channels=2, num_layers=2, max_epochs=1, seed=0)
    return learner.fit(graph).on(graph)


KINDS: dict[str, Callable[[KnowledgeGraph, Path], Any]] = {
    "geometry": lambda graph, _: Reasoner(RULES).on(graph, progress=_UnpicklableProgress()),
    "stored": lambda graph, _: stored(graph),
    "bounded": lambda graph, _: Reasoner(RULES, bound=20).on(graph),
    "chase": lambda graph, _: Reasoner(RULES, engine="chase").on(graph, progress=_UnpicklableProgress()),
    "sketch": lambda graph, _: Reasoner(RULES).sketch(graph, channels=64),
    "classes": of_classes,
    "rule list": lambda graph, _: RuleModel.from_rules(RULES).on(graph),
    "theory": theory,
    "model": model,
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda answers: pickle.loads(pickle.dumps(answers)),  # noqa: S301 - our own
}


@pytest.fixture(params=KINDS)
def answers(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return KINDS[request.param](KnowledgeGraph(FACTS), tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_the_same_and_independent(answers: Any, way: str) -> None:
    before = (set(answers.triples()), set(answers.facts))
    other = WAYS[way](answers)
    assert type(other) is type(answers)
    assert (set(other.triples()), set(other.facts)) == before
    other.add(MORE)
    assert (set(answers.triples()), set(answers.facts)) == before
    assert ("e6", "r", "e7") in set(other.facts)
    answers.remove(FACTS[:1])
    assert FACTS[0] in set(other.facts)
    assert other.holds(*FACTS[0])
    assert not answers.holds(*FACTS[0])


@pytest.mark.parametrize("way", WAYS)
def test_copies_are_made_while_others_change_the_facts(answers: Any, way: str) -> None:
    def change(number: int) -> None:
        answers.add([(f"x{number}", "r", "e0")])

    with ThreadPoolExecutor(2) as threads:
        changes = [threads.submit(change, number) for number in range(8)]
        copies = [WAYS[way](answers) for _ in range(4)]
        for done in changes:
            done.result()
    for other in copies:
        assert len(FACTS) <= len(set(other.facts)) <= len(FACTS) + 8
        other.add(MORE)
        assert other.holds(*MORE[0])
