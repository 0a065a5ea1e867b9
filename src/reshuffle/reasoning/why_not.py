"""Explain why a triple does not follow: the best partial match of each rule that could derive it.

It uses only `tails`, `heads` and `holds`, so it works in the same way for all engines.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reshuffle.errors import UnknownNameError
from reshuffle.kg import Triple, inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.pictures.diagram import Growing
from reshuffle.progress import SILENT
from reshuffle.reasoning.proofs import atom_triple, check_most, spelled
from reshuffle.results import Explanation
from reshuffle.rules.rule import ConstantRule, IntersectionRule, bound_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.pictures.diagram import Diagram
    from reshuffle.progress import Progress, Report
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules import PathRule, Rule, RuleBase
    from reshuffle.rules.exactness import Exactness
    from reshuffle.rules.rule import Terms

Origins: TypeAlias = dict[str, str | None]  # the entities a path can be at, and where each was reached from

UNBOUND = "?"
"""Stands for an entity of a missing atom that nothing determines."""

_WIDEST = 1_000  # entities followed per atom: enough to find a near miss, and no explosion at hubs


@dataclass(frozen=True)
class PartialDerivation:
    """A rule that nearly applies: the atoms that hold, and those that would be needed with them.

    >>> from reshuffle.rules import PathRule
    >>> rule = PathRule(("bornIn", "cityIn"), "citizenOf")
    >>> born, missing = Triple("ada", "bornIn", "london"), Triple("london", "cityIn", "uk")
    >>> print(PartialDerivation(rule, (born,), (missing,)))
    bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
      holds:   bornIn(ada, london)
      missing: cityIn(london, uk)
    """

    rule: Rule
    matched: tuple[Triple, ...]
    missing: tuple[Triple, ...]
    """In the order of the body; an entity that nothing determines is `UNBOUND`."""

    def __str__(self) -> str:
        lines = [str(self.rule)]
        lines += [f"  holds:   {spelled(triple)}" for triple in self.matched]
        lines += [f"  missing: {spelled(triple)}" for triple in self.missing]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """The rule and its atoms as plain data for JSON."""
        return {
            "rule": str(self.rule),
            "matched": [list(triple) for triple in self.matched],
            "missing": [list(triple) for triple in self.missing],
        }


@dataclass(frozen=True)
class NoProof(Explanation):
    """What `explain` gives for a triple that does not follow: false, and prints which rules come nearest."""

    triple: Triple
    exactness: Exactness
    """Of the answers that were asked: what they are."""
    nearest: tuple[PartialDerivation, ...] = ()

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        lines = [f"{spelled(self.triple)} {self.exactness.does_not_follow}"]
        if self.nearest:
            lines += ["", "nearest:", *map(str, self.nearest)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "follows": False,
            **self.exactness.to_dict(),
            "proofs": [],
            "nearest": [partial.to_dict() for partial in self.nearest],
        }

    def diagram(self, most: int | None = None) -> Diagram:
        """The rules that nearly apply, as they are drawn."""
        return nearest_diagram(self.triple, self.nearest[:most])


def nearest_diagram(triple: tuple[str, str, str], nearest: Sequence[PartialDerivation]) -> Diagram:
    """A triple that does not follow, as it is drawn: the rules that nearly apply, what holds and what is missing."""
    tree, rules = Growing(), []
    for partial in nearest:
        atoms = [tree.add(spelled(atom), "holds", "fact") for atom in partial.matched]
        atoms += [tree.add(spelled(atom), "missing", "missing") for atom in partial.missing]
        rules.append(tree.add(str(partial.rule), kind="rule", below=atoms))
    tree.add(spelled(triple), "does not follow", "missing", rules)
    return tree.grown(f"why {spelled(triple)} does not follow")


def why_not(
    answers: Answers,
    rules: RuleBase,
    head: str,
    relation: str,
    tail: str,
    *,
    most: int = 5,
    progress: Progress = SILENT,
) -> list[PartialDerivation]:
    """The nearest partial derivations, fewest missing atoms first; empty when the triple holds or has no rule.

    Paths are followed from both ends, over at most a thousand entities per atom.
    """
    check_most(most)
    with answers.shared.reading():
        if answers.holds(head, relation, tail):
            return []
        tried = [
            (rule, head, tail) for rule in rules.by_head.get(relation, ()) if _speaks_of(rule, head, tail)
        ]
        tried += [(rule, tail, head) for rule in rules.by_head.get(inverse_name(relation), ())]
        with progress("looking for what is missing", total=len(tried), unit="rules") as report:
            found = [_partial(answers, *one, report) for one in tried]
    return sorted(found, key=lambda partial: (len(partial.missing), -len(partial.matched)))[:most]


def _speaks_of(rule: Rule, head: str, tail: str) -> bool:
    return not isinstance(rule, ConstantRule) or bound_by(rule.conclusion, (head, rule.head, tail), {})


def _partial(answers: Answers, rule: Rule, start: str, end: str, report: Report) -> PartialDerivation:
    report(1)
    if isinstance(rule, ConstantRule):
        return _partial_atoms(answers, rule, (start, rule.head, end), report)
    if isinstance(rule, IntersectionRule):
        atoms = [atom_triple(relation, start, end) for relation in rule.body]
        holding = [answers.holds(*atom) for atom in atoms]
        return PartialDerivation(
            rule,
            tuple(itertools.compress(atoms, holding)),
            tuple(atom for atom, holds in zip(atoms, holding, strict=True) if not holds),
        )
    return _partial_path(answers, rule, start, end, report)


def _partial_path(
    answers: Answers, rule: PathRule, start: str, end: str, report: Report
) -> PartialDerivation:
    """The longest pieces of the path from both ends that leave the smallest gap between them."""
    ahead = _followed(answers, rule.body, start, report)
    turned = tuple(inverse_name(relation) for relation in reversed(rule.body))
    behind = _followed(answers, turned, end, report)
    behind.reverse()  # behind[i]: the entities from which the atoms i, i + 1, ... lead to `end`
    length = len(rule.body)
    first, last = min(
        ((i, j) for i in range(length) for j in range(i + 1, length + 1) if ahead[i] and behind[j]),
        key=lambda gap: gap[1] - gap[0],
    )
    before = _path_to(ahead[: first + 1])
    after = _path_to(behind[last:][::-1])[::-1]
    # Entities before the gap, unknown ones inside it, and entities after it.
    ends = [*before, *itertools.repeat(UNBOUND, last - first - 1), *after]
    atoms = [atom_triple(relation, *pair) for relation, pair in zip(rule.body, _pairs(ends), strict=True)]
    return PartialDerivation(rule, tuple(atoms[:first] + atoms[last:]), tuple(atoms[first:last]))


def _partial_atoms(
    answers: Answers, rule: ConstantRule, conclusion: tuple[str, str, str], report: Report
) -> PartialDerivation:
    """Atoms that hold one after another, those first that say most; each leaves its variables bound."""
    bound: dict[int, str] = {}
    bound_by(rule.conclusion, conclusion, bound)
    left, matched, missing = list(rule.atoms), [], []
    while left:
        atom = min(left, key=lambda atom: sum(isinstance(end, int) and end not in bound for end in atom[1:]))
        left.remove(atom)
        instances = _held(answers, atom, bound)
        if not instances:
            missing.append(atom)
            continue
        # The instance that leaves fewest of the other atoms without one.
        unmet = {}
        for triple in instances:
            report(0)
            unmet[triple] = _unmet(answers, left, atom, triple, bound)
        fitting = min(instances, key=unmet.__getitem__)
        bound_by(atom, fitting, bound)
        matched.append(fitting)
    return PartialDerivation(rule, tuple(matched), tuple(_spelt(atom, bound) for atom in missing))


def _unmet(
    answers: Answers, left: Sequence[Terms], atom: Terms, triple: Triple, bound: dict[int, str]
) -> tuple[int, Triple]:
    then = dict(bound)
    bound_by(atom, triple, then)
    return sum(not _held(answers, other, then) for other in left), triple


def _held(answers: Answers, atom: Terms, bound: dict[int, str]) -> list[Triple]:
    """Triples that hold and that the atom can mean, where one of its ends is known."""
    relation, start, end = atom
    head, tail = (bound.get(name) if isinstance(name, int) else name for name in (start, end))
    try:
        if head is not None and tail is not None:
            return [Triple(head, relation, tail)] if answers.holds(head, relation, tail) else []
        if head is not None:
            return [
                Triple(head, relation, name)
                for name in itertools.islice(answers.tails(head, relation), _WIDEST)
            ]
        if tail is not None:
            return [
                Triple(name, relation, tail)
                for name in itertools.islice(answers.heads(relation, tail), _WIDEST)
            ]
    except UnknownNameError:  # an entity or relation that no fact has
        pass
    return []


def _spelt(atom: Terms, bound: dict[int, str]) -> Triple:
    relation, *ends = atom
    head, tail = (bound.get(end, UNBOUND) if isinstance(end, int) else end for end in ends)
    return Triple(head, relation, tail)


def _pairs(ends: list[str]) -> Iterator[tuple[str, str]]:
    return itertools.pairwise(ends)


def _followed(answers: Answers, body: tuple[str, ...], start: str, report: Report) -> list[Origins]:
    """Where the first 0, 1, 2, ... atoms lead from `start`, each entity with one it was reached from."""
    reached: list[Origins] = [{start: None}]
    for relation in body:
        step: Origins = {}
        for entity in reached[-1]:
            report(0)  # at hubs a rule takes long
            for other in _neighbours(answers, relation, entity):
                step.setdefault(other, entity)
            if len(step) > _WIDEST:
                break
        reached.append(step)
    return reached


def _neighbours(answers: Answers, relation: str, entity: str) -> Iterator[str]:
    if is_inverse(relation):
        return answers.heads(inverse_name(relation), entity)
    return answers.tails(entity, relation)


def _path_to(reached: list[Origins]) -> list[str]:
    """The entities of one path, from the first to (the least of) the last."""
    entity: str | None = min(reached[-1])
    path: list[str] = []
    for step in reversed(reached):
        assert entity is not None
        path.append(entity)
        entity = step[entity]
    return path[::-1]
