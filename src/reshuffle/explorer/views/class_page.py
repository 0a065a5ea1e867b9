"""The page of classes: each with its direct parents and children, and what axioms say of it.

Subclass axioms are rules `type(X, A) -> type(X, B)`. A parent is direct where no other parent leads to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from reshuffle.errors import UnknownNameError
from reshuffle.progress import SILENT, in_one_step
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.rule import ConstantRule, DisjointEnds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reshuffle.explorer.subject import World
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule

SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
NOTHING = "http://www.w3.org/2002/07/owl#Nothing"
_NOTHING = (NOTHING, "owl:Nothing")
_TOP = ("http://www.w3.org/2002/07/owl#Thing", "http://www.w3.org/2000/01/rdf-schema#Resource")
_MOST_ROOTS = 500
_MOST_NAMES = 12
_MOST_RULES = 50


@dataclass(frozen=True)
class ClassTree:
    """Which class is said to be below which, from axioms and from `rdfs:subClassOf` between names."""

    parents: Mapping[str, set[str]] = field(default_factory=dict)
    children: Mapping[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, world: World) -> ClassTree:
        """The tree of a subject; empty where nothing is said about classes."""
        parents: dict[str, set[str]] = {}
        children: dict[str, set[str]] = {}
        for below, above in (*_from_rules(world.listed_rules), *_from_facts(world)):
            if below != above and above not in _TOP:
                parents.setdefault(below, set()).add(above)
                children.setdefault(above, set()).add(below)
            parents.setdefault(below, set())
        if world.is_a is not None:
            for name in world.facts.entities:
                parents.setdefault(name, set())
        return cls(parents, children)

    @property
    def names(self) -> list[str]:
        """All classes, sorted."""
        return sorted({*self.parents, *self.children})

    def above(self, name: str) -> set[str]:
        """All classes that a class leads to; itself only where it lies on a circle."""
        return _reached(name, self.parents)

    def equal(self, name: str) -> list[str]:
        """The classes that are above and below a class."""
        return sorted(other for other in self.above(name) if other != name and name in self.above(other))

    def direct_parents(self, name: str) -> list[str]:
        """The parents that no other parent leads to, without classes that are equal to it."""
        same = {name, *self.equal(name)}
        given = {other for one in same for other in self.parents.get(one, ())} - same
        return sorted(one for one in given if not any(self._leads(other, one) for other in given - {one}))

    def direct_children(self, name: str) -> list[str]:
        """The classes of which it is a direct parent."""
        same = {name, *self.equal(name)}
        below = {other for one in same for other in self.children.get(one, ())} - same
        return sorted(one for one in below if same & set(self.direct_parents(one)))

    def _leads(self, below: str, above: str) -> bool:
        """Strictly: of equal classes neither is left out for the other."""
        return above in self.above(below) and below not in self.above(above)

    def roots(self) -> list[str]:
        """The classes without a parent."""
        return [name for name in self.names if name not in _NOTHING and not self.direct_parents(name)]


def _from_rules(rules: Iterable[Rule]) -> list[tuple[str, str]]:
    found = []
    for rule in rules:
        if isinstance(rule, ConstantRule) and len(rule.atoms) == 1:
            (relation, asked, below), (concluded, member, above) = rule.atoms[0], rule.conclusion
            of_types = relation == concluded == TYPE and asked == member == 0
            if of_types and isinstance(below, str) and isinstance(above, str):
                found.append((below, above))
    return found


def _from_facts(world: World) -> list[tuple[str, str]]:
    code = world.facts.relations.find(world.is_a or SUBCLASS)
    if code is None:
        return []
    below, above = (world.facts.entities[ends] for ends in world.facts.edges(code))
    pairs = zip(below, above, strict=True)
    return [pair for pair in pairs if not any(name.startswith("_:") for name in pair)]


def _reached(name: str, onward: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = deque([name])
    while waiting:
        for other in onward.get(waiting.popleft(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def has_classes(world: World) -> bool:
    """Does a subject say of some class that it is below another?"""
    facts = world.facts.relations
    return bool(_from_rules(world.listed_rules)) or facts.find(world.is_a or SUBCLASS) is not None


def classes_page(world: World, name: str | None = None, *, progress: Progress = SILENT) -> dict[str, Any]:
    """The classes without parents, and those that can have no member; of a class what lies around it."""
    with in_one_step(progress, "looking at classes"):
        tree = ClassTree.of(world)
    page: dict[str, Any] = {"class": name, "count": len(tree.names)}
    if name is not None:
        return page | _about(world, tree, name)
    roots = tree.roots()
    return page | {
        "roots": [_row(tree, one) for one in roots[:_MOST_ROOTS]],
        "more": max(0, len(roots) - _MOST_ROOTS),
        "unsatisfiable": sorted(_unsatisfiable(world, tree)),
    }


def _row(tree: ClassTree, name: str) -> dict[str, Any]:
    return {"name": name, "children": len(tree.direct_children(name))}


def _about(world: World, tree: ClassTree, name: str) -> dict[str, Any]:
    members = _members(world, name)
    rules = [
        rule for rule in world.listed_rules if isinstance(rule, ConstantRule) and name in _constants(rule)
    ]
    if not (rules or members or name in tree.parents or name in tree.children):
        raise UnknownNameError("class", name, tree.names)
    return {
        "parents": tree.direct_parents(name),
        "children": [_row(tree, one) for one in tree.direct_children(name)],
        "equal": tree.equal(name),
        "above": len(tree.above(name) - {name}),
        "below": len(_reached(name, tree.children) - {name}),
        "members": {"count": len(members), "names": members[:_MOST_NAMES]},
        "properties": [*_properties(rules, name), *_edges(world, name)],
        "unsatisfiable": name in _unsatisfiable(world, tree),
        "rules": {"count": len(rules), "shown": [str(rule) for rule in islice(rules, _MOST_RULES)]},
    }


def _members(world: World, name: str) -> list[str]:
    facts = world.facts
    number, code = facts.entities.find(name), facts.relations.find(TYPE)
    return [] if number is None or code is None else facts.entities[facts.by_tail.of(number, code)]


def _constants(rule: ConstantRule) -> set[str]:
    return {end for atom in (*rule.atoms, rule.conclusion) for end in atom[1:] if isinstance(end, str)}


def _properties(rules: Iterable[ConstantRule], name: str) -> Iterable[dict[str, Any]]:
    """How a class is tied to properties: their domain, their range, or a value that all of its members have."""
    for rule in rules:
        relation, start, end = rule.conclusion
        if relation == TYPE and end == name and len(rule.atoms) == 1 and rule.atoms[0][0] != TYPE:
            used, first, second = rule.atoms[0]
            if not isinstance(first, str) and not isinstance(second, str):
                yield {"property": used, "as": "domain" if start == first else "range", "value": None}
        elif relation != TYPE and rule.atoms == ((TYPE, start, name),) and isinstance(end, str):
            yield {"property": relation, "as": "value", "value": end}


def _edges(world: World, name: str) -> Iterable[dict[str, Any]]:
    """The edges from a class that say `some`, where facts are edges between classes."""
    number = world.facts.entities.find(name)
    if world.is_a is None or number is None:
        return
    for code, relation in enumerate(world.facts.relations):
        if relation != world.is_a:
            for tail in world.facts.entities[world.facts.by_head.of(number, code)]:
                yield {"property": relation, "as": "some", "value": tail}


def _unsatisfiable(world: World, tree: ClassTree) -> set[str]:
    """Classes below two disjoint ones, or below `owl:Nothing`; more may follow from axioms that are no rules."""
    found = {one for nothing in _NOTHING for one in _reached(nothing, tree.children)}
    for constraint in world.rules.disjointness:
        if isinstance(constraint, DisjointEnds) and constraint.first == constraint.second == TYPE:
            sides = [
                {end, *_reached(end, tree.children)} for end in (constraint.first_end, constraint.second_end)
            ]
            found |= sides[0] & sides[1]
    return found
