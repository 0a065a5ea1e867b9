"""Links that cannot be: with the facts they would break a constraint, or make two names names of one individual.

Each name is read as an individual of its own unless facts and rules say otherwise. So a second value of a functional
property is impossible, and not a reason to merge both values.

A link is put among all that holds around its two ends. Whatever follows newly has ends, too, around which is looked
next, until nothing new follows: so no clash is missed. One that is there without the link is not held against it.

>>> from reshuffle import KnowledgeGraph, parse_rules
>>> rules = parse_rules("likes(X, Y) & hates(X, Y) -> false")
>>> impossible = ImpossibleLinks(rules, KnowledgeGraph([("ann", "hates", "bob")]))
>>> Triple("ann", "likes", "bob") in impossible, Triple("bob", "likes", "ann") in impossible
(True, False)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError, Place
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.reasoner import Reasoner
from reshuffle.rules.class_axioms import SAME_AS, TYPE, forbidden
from reshuffle.rules.ontologies.equality import concludes_equality
from reshuffle.theories.kinds import load
from reshuffle.theories.ontology_files import OntologyTheory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.ranked_links import Link, Predictions
    from reshuffle.progress import Notes, Progress
    from reshuffle.rules import RuleBase
    from reshuffle.rules.exactness import Exactness

    Booleans = NDArray[np.bool_]


_MOST_JUDGED = 1_000


def says_what_cannot_be(rules: RuleBase) -> bool:
    """Is there a constraint, or a rule by which two names are one?"""
    return bool(forbidden(rules)) or concludes_equality(rules)


class ImpossibleLinks:
    """The links that rules, axioms and facts exclude; asked with `in`."""

    def __init__(
        self,
        rules: RuleBase,
        facts: KnowledgeGraph,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> None:
        self._reasoner = Reasoner(rules, engine="chase")
        answers = self._reasoner.on(facts, progress=progress, notes=notes)
        self.claim: Exactness = answers.claim
        """What was read of the rules and axioms."""
        self._known = facts | KnowledgeGraph(list(answers.triples()))

        self._steps = max((_links_in(rule.body) for rule in rules.rules), default=1) - 1

    def __contains__(self, link: Triple) -> bool:
        centres = {link.head} if link.relation == TYPE else {link.head, link.tail}
        while True:
            around = self._reasoner.on(KnowledgeGraph([*self._around(centres), link]))
            if any(
                link in (*broken.first.leaves(), *broken.second.leaves()) for broken in around.violations()
            ):
                return True
            new = [triple for triple in around.triples() if triple not in self._known]
            if link.relation != SAME_AS and any(triple.relation == SAME_AS for triple in new):
                return True
            ends = {end for triple in new for end in _individuals(triple)}
            if ends <= centres:
                return False
            centres |= ends

    def _around(self, centres: set[str]) -> Iterator[Triple]:
        """What holds of some entities and, for long rules, of those near them, and the types of their neighbours.

        Other members of a class say nothing.
        """
        known = self._known
        type_ = known.relations.find(TYPE)
        links = known.relation_ids != (-1 if type_ is None else type_)
        marked = self._marked([code for end in centres if (code := known.entities.find(end)) is not None])
        for _ in range(self._steps - 1):
            marked = self._near(marked, links)
        chosen = self._about(marked) & (links | marked[known.heads])
        chosen |= self._near(marked, links)[known.heads] & ~links
        for place in np.flatnonzero(chosen):
            yield Triple(
                known.entities[int(known.heads[place])],
                known.relations[int(known.relation_ids[place])],
                known.entities[int(known.tails[place])],
            )

    def _near(self, marked: Booleans, links: Booleans) -> Booleans:
        """The marked entities and their neighbours over links."""
        known, near = self._known, marked.copy()
        near[known.heads[self._about(marked) & links]] = True
        near[known.tails[self._about(marked) & links]] = True
        return near

    def _marked(self, codes: list[int]) -> Booleans:
        marked = np.zeros(len(self._known.entities), bool)
        marked[codes] = True
        return marked

    def _about(self, marked: Booleans) -> Booleans:
        return np.asarray(marked[self._known.heads] | marked[self._known.tails])


def _links_in(body: Sequence[str]) -> int:
    """How many atoms of a body are links between individuals."""
    return sum(relation != TYPE for relation in body)


def _individuals(triple: Triple) -> tuple[str, ...]:
    return (triple.head,) if triple.relation == TYPE else (triple.head, triple.tail)


def read_impossible(
    path: str, facts: KnowledgeGraph, *, progress: Progress = SILENT, notes: Notes = UNHEARD
) -> ImpossibleLinks:
    """What the file of constraints excludes beside the facts; what an ontology says of individuals are facts, too."""
    theory = load(path, notes=notes)
    rules = theory.written_rules()
    if not says_what_cannot_be(rules):
        raise InputError(
            "nothing in this file says what cannot be",
            place=Place(path),
            hint="give an ontology with disjoint classes or functional properties, or rules such as "
            "a(X, Y) & b(X, Y) -> false",
        )
    said = theory.ontology.facts if isinstance(theory, OntologyTheory) else theory.facts
    return ImpossibleLinks(rules, facts | KnowledgeGraph(said), progress=progress, notes=notes)


def without_impossible(
    ask: Callable[[dict[str, Any]], Predictions[Link]],
    wanted: dict[str, Any],
    impossible: ImpossibleLinks,
    *,
    notes: Notes = UNHEARD,
) -> Predictions[Link]:
    """The links that may be, as many as are wanted where there are enough, with the number of those held back.

    `wanted` has `top`, and `per_relation` where it is given; more links are asked for until these are filled,
    or a thousand have been judged.
    """
    judged: dict[Any, bool] = {}
    more = 1
    while True:
        asked = {name: number if number is None else number * more for name, number in wanted.items()}
        found = ask(asked)
        for link in found:
            if link.triple not in judged:
                judged[link.triple] = not link.known and link.triple in impossible
        kept = _within(found, judged, wanted)
        lacks = _lacks(found, kept, asked, wanted)
        if lacks and len(judged) >= _MOST_JUDGED:
            notes(f"no more links were looked at than the best {len(judged):,}")
        if not lacks or len(judged) >= _MOST_JUDGED:
            held = sum(judged[link.triple] for link in found)
            return replace(found, links=tuple(kept), held_back=held)
        more *= 2


def _within(found: Predictions[Link], judged: dict[Any, bool], wanted: dict[str, Any]) -> list[Link]:
    """The links that are not held back, within the numbers that are wanted."""
    kept: list[Link] = []
    by_relation: Counter[str] = Counter()
    for link in found:
        full = by_relation[link.triple.relation] == wanted.get("per_relation")
        if judged[link.triple] or full:
            continue
        kept.append(link)
        by_relation[link.triple.relation] += 1
        if len(kept) == wanted.get("top"):
            break
    return kept


def _lacks(found: Predictions[Link], kept: list[Link], asked: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Are there fewer than wanted, though there may be more to ask for?"""
    if not found.complete or len(kept) == wanted.get("top"):
        return False
    if (most := asked.get("per_relation")) is not None:
        there = Counter(link.triple.relation for link in found)
        left = Counter(link.triple.relation for link in kept)
        if any(there[name] >= most and left[name] < wanted["per_relation"] for name in there):
            return True
    return asked.get("top") is not None and len(found) >= asked["top"]
