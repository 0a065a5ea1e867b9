"""Proofs of edges between classes, from the steps that the completion took.

Every fact of the completion knows which earlier facts it was derived from. What only says what an expression means is
no step of a proof: its premises stand in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.kg import Triple
from reshuffle.reasoning.classes.normal_forms import TOP
from reshuffle.reasoning.classes.saturation_kernels import (
    CHAIN,
    DOMAIN,
    ITSELF,
    KINDS,
    LEFT,
    MEET,
    ONE,
    OTHER,
    RELATION,
    SOME,
    TO_ITSELF,
    TO_NOTHING,
    TOLD,
    WHY,
    A,
    B,
)
from reshuffle.reasoning.proofs import Proof, StatedAxiom
from reshuffle.rules.ontologies.axioms import SubProperty, renamed
from reshuffle.rules.rule import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.reasoning.classes.class_names import ShortNames
    from reshuffle.reasoning.classes.saturation import Saturated

_SUB, _LINK = 0, 1


class ClassProofs:
    """Proofs in the names of an ontology; a step that several proofs share is made once."""

    def __init__(self, saturated: Saturated, names: ShortNames, is_a: str) -> None:
        self._saturated, self._names, self._is_a = saturated, names, is_a
        self._forms, self._facts = saturated.forms, saturated.facts
        self._made: dict[tuple[int, int], tuple[Proof, ...]] = {}
        """For each fact, its proof; for one that is no step, the proofs that stand in its place."""

    def of_sub(self, a: int, b: int) -> Proof:
        """Why `a is_a b`."""
        return self._shown(_SUB, self._saturated.sub(a, b))

    def of_edge(self, relation: int, link: int, b: int) -> Proof:
        """Why the link's class leads to b by the relation: the link, and what lies above its ends."""
        facts = self._facts
        a, below, middle = (int(column[link]) for column in facts.links[[A, RELATION, B]])
        first = self._shown(_LINK, link)
        if below == relation and middle == b:
            return first
        rest = self._part(_SUB, self._saturated.sub(middle, b)) if middle != b else ()
        sub = self._sub_relation(below, relation)
        rule = PathRule((self._relation(below), self._is_a)[: 1 + bool(rest)], self._relation(relation))
        return Proof(self._triple(a, self._relation(relation), b), rule, (first, *sub, *rest))

    # --- steps --------------------------------------------------------------------------------------

    def _shown(self, kind: int, number: int) -> Proof:
        """The proof of a fact that is shown in any case."""
        found = self._part(kind, number)
        if len(found) == 1 and found[0].triple == self._triple_of(kind, number):
            return found[0]
        return Proof(self._triple_of(kind, number), StatedAxiom("by what the expressions mean"), found)

    def _part(self, kind: int, number: int) -> tuple[Proof, ...]:
        """The proofs of a fact and of all that it rests on, by an explicit stack."""
        waiting = [(kind, number)]
        while waiting:
            key = waiting[-1]
            if key in self._made:
                waiting.pop()
                continue
            missing = [one for one in self._premises(*key) if one not in self._made]
            if missing:
                waiting += missing
            else:
                self._made[key] = self._made_of(*key)
                waiting.pop()
        return self._made[kind, number]

    def _why(self, kind: int, number: int) -> tuple[int, int, int, int]:
        """The kind of the last step, its axiom, and the two facts it starts from."""
        facts = self._facts
        rows = facts.subs if kind == _SUB else facts.links
        rule, one, other = (int(rows[row, number]) for row in (WHY, ONE, OTHER))
        return rule % KINDS, rule // KINDS - 1, one, other

    def _premises(self, kind: int, number: int) -> list[tuple[int, int]]:
        step, _, one, other = self._why(kind, number)
        if step in (TOLD, SOME, TO_ITSELF):
            return [(_SUB, one)]
        if step == MEET:
            return [(_SUB, one), (_SUB, other)]
        if step in (LEFT, TO_NOTHING):
            return [(_LINK, one), (_SUB, other)]
        if step == DOMAIN:
            return [(_LINK, one)]
        return [(_LINK, one), (_LINK, other)] if step == CHAIN else []

    def _made_of(self, kind: int, number: int) -> tuple[Proof, ...]:
        step, axiom, _, _ = self._why(kind, number)
        if step == ITSELF:
            return ()
        premises = [proof for key in self._premises(kind, number) for proof in self._made[key]]
        premises += self._sub_relations_of(kind, number)
        if axiom < 0 and step not in (TO_NOTHING, SOME, TO_ITSELF):
            return tuple(dict.fromkeys(premises))
        if axiom < 0 and not premises:
            return ()
        rule = self._rule(step, axiom)
        return (Proof(self._triple_of(kind, number), rule, tuple(dict.fromkeys(premises))),)

    def _rule(self, step: int, axiom: int) -> StatedAxiom:
        if axiom >= 0:
            return StatedAxiom(str(renamed(self._forms.axioms[axiom], self._names.__getitem__)))
        return StatedAxiom(
            "a class that leads to nothing has no members"
            if step == TO_NOTHING
            else "by what the expressions mean"
        )

    def _sub_relations_of(self, kind: int, number: int) -> Iterator[Proof]:
        """The axioms about properties that a step uses beside its own."""
        step, axiom, one, other = self._why(kind, number)
        facts = self._facts
        if step in (LEFT, DOMAIN):
            b = int(facts.subs[B, number])
            filler = TOP if step == DOMAIN else int(facts.subs[B, other])
            asked = [
                relation
                for relation, of, sup, _ in self._forms.some_lefts
                if sup == b and of == filler and relation in self._saturated.above[facts.links[RELATION, one]]
            ]
            yield from self._sub_relation(int(facts.links[RELATION, one]), asked[0])
        elif step == CHAIN:
            found = [int(facts.links[RELATION, link]) for link in (one, other)]
            for first, second, sup, of in self._forms.chains:
                if (
                    of == axiom
                    and sup == facts.links[RELATION, number]
                    and all(
                        wanted in self._saturated.above[below]
                        for below, wanted in zip(found, (first, second), strict=True)
                    )
                ):
                    for below, wanted in zip(found, (first, second), strict=True):
                        yield from self._sub_relation(below, wanted)
                    return

    def _sub_relation(self, sub: int, sup: int) -> list[Proof]:
        """The axioms that lead from a relation to one above it, along a shortest way."""
        came: dict[int, tuple[int, int]] = {sub: (-1, -1)}
        waiting = [sub]
        for relation in waiting:
            if relation == sup:
                break
            for below, above, axiom in self._forms.sub_relations:
                if below == relation and above not in came:
                    came[above] = (relation, axiom)
                    waiting.append(above)
        found = []
        while sup != sub:
            below, axiom = came[sup]
            said = SubProperty(*(self._relation(one) for one in (below, sup)))
            rule = StatedAxiom(
                str(renamed(self._forms.axioms[axiom], self._names.__getitem__)) if axiom >= 0 else str(said)
            )
            found.append(Proof(Triple(said.sub, "rdfs:subPropertyOf", said.sup), rule))
            sup = below
        return found[::-1]

    # --- names --------------------------------------------------------------------------------------

    def _triple_of(self, kind: int, number: int) -> Triple:
        facts = self._facts
        if kind == _SUB:
            return self._triple(int(facts.subs[A, number]), self._is_a, int(facts.subs[B, number]))
        relation = self._relation(int(facts.links[RELATION, number]))
        return self._triple(int(facts.links[A, number]), relation, int(facts.links[B, number]))

    def _triple(self, a: int, relation: str, b: int) -> Triple:
        return Triple(self._class(a), relation, self._class(b))

    def _relation(self, number: int) -> str:
        name = self._forms.relations[number]
        return (
            self._names[name]
            if not name.startswith("~")
            else " o ".join(map(self._names.__getitem__, name[1:].split(" ")))
        )

    def _class(self, number: int) -> str:
        meaning = self._forms.meanings[number]
        if isinstance(meaning, str):
            return self._names[meaning]
        return str(renamed(meaning, self._names.__getitem__))
