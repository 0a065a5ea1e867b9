"""Derivations as data: a tree of triples, each a fact or concluded by one rule of the user's own.

All functions use an explicit stack and visit a shared sub-proof once, so proofs with ten thousand steps can be printed,
checked and exported.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from reshuffle.errors import InputError, ReshuffleError, whole_number
from reshuffle.kg import Triple, inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.pictures.diagram import Diagram, Node
from reshuffle.pictures.notebook import drawn_tree
from reshuffle.results import Explanation
from reshuffle.rules.rule import ConstantRule, IntersectionRule, quoted
from reshuffle.text import counted, visible

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rules import Rule, RuleBase
    from reshuffle.rules.exactness import Exactness

_DEEPEST_INDENT = 24  # deeper sub-proofs are printed below, by number: indentation would grow quadratically


class WrongStepError(ReshuffleError):
    """A proof with a step that no rule of the base allows, or a leaf that is no fact."""


_NAMED = 3  # triples that a note names


@dataclass(frozen=True)
class StatedAxiom:
    """What a step of a proof between classes goes by: an axiom in its own words."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False, repr=False)
class Proof(Explanation):
    """`triple` is a fact (`rule` is None), or follows by `rule` from its premises, in the order of the body.

    >>> from reshuffle.rules import PathRule
    >>> born, city = Proof(Triple("ada", "bornIn", "london")), Proof(Triple("london", "cityIn", "uk"))
    >>> rule = PathRule(("bornIn", "cityIn"), "citizenOf")
    >>> print(Proof(Triple("ada", "citizenOf", "uk"), rule, (born, city)))
    citizenOf(ada, uk)    [bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)]
    ├─ bornIn(ada, london)    fact
    └─ cityIn(london, uk)    fact
    """

    triple: Triple
    rule: Rule | StatedAxiom | None = None
    premises: tuple[Proof, ...] = ()
    size: int = field(init=False)
    """How many rule applications the tree holds; a shared sub-proof counts as often as it is used."""
    depth: int = field(init=False)
    """The longest chain of rule applications."""
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        # Computed from the premises' own values, so that no later question has to walk the tree.
        applied = 0 if self.rule is None else 1
        object.__setattr__(self, "size", applied + sum(premise.size for premise in self.premises))
        object.__setattr__(self, "depth", applied + max((p.depth for p in self.premises), default=0))
        key = (self.triple, self.rule, tuple(premise._hash for premise in self.premises))
        object.__setattr__(self, "_hash", hash(key))

    def __bool__(self) -> Literal[True]:
        return True  # beside `NoProof`, which is false

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Proof):
            return NotImplemented
        seen: set[tuple[int, int]] = set()
        pending = [(self, other)]
        while pending:
            one, two = pending.pop()
            if one is two or (id(one), id(two)) in seen:
                continue
            seen.add((id(one), id(two)))
            if one._hash != two._hash or one.triple != two.triple or one.rule != two.rule:
                return False
            if len(one.premises) != len(two.premises):
                return False
            pending.extend(zip(one.premises, two.premises, strict=True))
        return True

    def __repr__(self) -> str:
        return f"<Proof of {spelled(self.triple)}: {self.size} rule applications, depth {self.depth}>"

    def steps(self) -> Iterator[Proof]:
        """Every distinct sub-proof, premises before what they prove, this proof last."""
        done: set[int] = set()
        pending: list[tuple[Proof, bool]] = [(self, False)]
        while pending:
            proof, premises_done = pending.pop()
            if id(proof) in done:
                continue
            if premises_done:
                done.add(id(proof))
                yield proof
            else:
                pending.append((proof, True))
                pending.extend((premise, False) for premise in reversed(proof.premises))

    def leaves(self) -> tuple[Triple, ...]:
        """The distinct facts that the proof rests on, from left to right."""
        return tuple(dict.fromkeys(step.triple for step in self.steps() if step.rule is None))

    def __str__(self) -> str:
        return "\n".join(_tree_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: a flat list of numbered steps; a nested one could not be written beyond depth 1,000.

        >>> Proof(Triple("a", "r", "b")).to_dict()["steps"]
        [{'triple': ['a', 'r', 'b'], 'rule': None, 'premises': []}]
        """
        number: dict[int, int] = {}
        steps = []
        for step in self.steps():
            number[id(step)] = len(number)
            rule = None if step.rule is None else str(step.rule)
            premises = [number[id(premise)] for premise in step.premises]
            steps.append({"triple": list(step.triple), "rule": rule, "premises": premises})
        return {"triple": list(self.triple), "size": self.size, "depth": self.depth, "steps": steps}

    def diagram(self, most: int | None = None) -> Diagram:
        """The proof as it is drawn."""
        del most  # it is one
        return proofs_diagram([self])

    def to_mermaid(self) -> str:
        """A Mermaid flow chart from the facts (round) to the conclusion."""
        return self.diagram().to_mermaid()

    def _repr_html_(self) -> str:
        return drawn_tree(repr(self)[1:-1], self.diagram())


@dataclass(frozen=True)
class Proofs(Explanation):
    """Proofs of one triple, as they are told together; `NoProof` is what is told where there is none."""

    each: tuple[Proof, ...]
    exactness: Exactness
    opening: str = ""
    """What is said before them."""

    def __str__(self) -> str:
        return self.opening + "\n\n".join(map(str, self.each))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "follows": True,
            **self.exactness.to_dict(),
            "proofs": [proof.to_dict() for proof in self.each],
        }

    def diagram(self, most: int | None = None) -> Diagram:
        """The proofs side by side, as they are drawn."""
        return proofs_diagram(self.each[:most])


def proofs_diagram(proofs: Sequence[Proof]) -> Diagram:
    """Proofs of one triple side by side; a step that several share is one node."""
    number: dict[int, int] = {}
    nodes: list[Node] = []
    for step in itertools.chain.from_iterable(proof.steps() for proof in proofs):
        if id(step) not in number:
            number[id(step)] = len(nodes)
            below = tuple(number[id(premise)] for premise in step.premises)
            text, rule = spelled(step.triple), step.rule
            nodes.append(Node(text, kind="fact") if rule is None else Node(text, str(rule), below=below))
    return Diagram(
        f"why {spelled(proofs[0].triple)}", tuple(nodes), tuple(number[id(proof)] for proof in proofs)
    )


def without_circles(proof: Proof) -> Proof:
    """The proof itself, or, where triples rest on each other, with each of them proved in one way, its smallest there.

    >>> from reshuffle.rules import PathRule
    >>> fact = Triple("f", "u", "f")
    >>> print(without_circles(Proof(fact, PathRule(("u^-1",), "u"), (Proof(fact),))))
    u(f, f)    fact
    """
    steps = list(proof.steps())
    if not _rest_on_each_other(steps):
        return proof
    best: dict[Triple, Proof] = {}
    # Premises are smaller than what they prove, so each is there before it is used, and nothing larger ever is.
    for step in sorted(steps, key=lambda step: step.size):
        if step.triple not in best:
            premises = tuple(best[premise.triple] for premise in step.premises)
            best[step.triple] = Proof(step.triple, step.rule, premises)
    return best[proof.triple]


def _rest_on_each_other(steps: Sequence[Proof]) -> bool:
    if len({step.triple for step in steps}) == len(steps):
        return False
    below: dict[Triple, set[Triple]] = {}
    for step in steps:
        below.setdefault(step.triple, set()).update(premise.triple for premise in step.premises)
    try:
        TopologicalSorter(below).prepare()
    except CycleError:
        return True
    return False


def check_most(most: int) -> None:
    """Refuse a number of proofs that is no whole number, or negative."""
    hint = "give 1 or more"
    if type(most) is not int:
        whole_number("most", most, hint=hint)
    if most < 0:
        raise InputError(f"most = {most}", hint=hint)


def spelled(triple: tuple[str, str, str]) -> str:
    """A triple as rules write atoms: `relation(head, tail)`."""
    head, relation, tail = triple
    head, tail = (name if name.isprintable() else visible(name) for name in (head, tail))
    return f"{quoted(relation)}({head}, {tail})"


def _tree_lines(proof: Proof) -> Iterator[str]:
    """A tree per block; a sub-proof that is too deep to indent starts a block of its own, by number."""
    blocks, numbers = [proof], {id(proof): 0}
    shown: set[int] = set()
    for start in blocks:
        block = numbers[id(start)]
        if block:
            yield f"[{block}]"
        yield from _block_lines(start, blocks, numbers, shown)


def _block_lines(
    start: Proof, blocks: list[Proof], numbers: dict[int, int], shown: set[int]
) -> Iterator[str]:
    pending = [(start, "", "", 0)]
    while pending:
        proof, first, rest, depth = pending.pop()
        if proof.rule is None:
            yield f"{first}{spelled(proof.triple)}    fact"
        elif id(proof) in shown:
            yield f"{first}{spelled(proof.triple)}    (shown above)"
        elif depth == _DEEPEST_INDENT:
            if id(proof) not in numbers:
                numbers[id(proof)] = len(numbers)
                blocks.append(proof)
            yield f"{first}{spelled(proof.triple)}    see [{numbers[id(proof)]}] below"
        else:
            shown.add(id(proof))
            yield f"{first}{spelled(proof.triple)}    [{proof.rule}]"
            pending.extend(_branches(proof, rest, depth))


def _branches(proof: Proof, indent: str, depth: int) -> list[tuple[Proof, str, str, int]]:
    """The premises, last first, each with the text before its own line and before the lines under it."""
    last = len(proof.premises) - 1
    return [
        (premise, indent + "└─ ", indent + "   ", depth + 1)
        if position == last
        else (premise, indent + "├─ ", indent + "│  ", depth + 1)
        for position, premise in reversed(list(enumerate(proof.premises)))
    ]


# --- checking ---------------------------------------------------------------------------------------


def check_proof(proof: Proof, rules: RuleBase, facts: Container[Triple]) -> None:
    """Every leaf a fact, every step an instance of a rule of the base; raises `WrongStepError` otherwise.

    >>> from reshuffle.rules import RuleBase
    >>> check_proof(Proof(Triple("a", "r", "b")), RuleBase(()), [])
    Traceback (most recent call last):
      ...
    reshuffle.reasoning.proofs.WrongStepError: r(a, b) is no fact of the graph
    """
    base = frozenset(rules.rules)
    for step in proof.steps():
        if step.rule is None:
            _check_leaf(step, facts)
        elif step.rule not in base:
            raise WrongStepError(f"{spelled(step.triple)} uses a rule that is not in the base: {step.rule}")
        else:
            _check_step(step, step.rule)


def _check_leaf(leaf: Proof, facts: Container[Triple]) -> None:
    if leaf.premises:
        raise WrongStepError(f"{spelled(leaf.triple)} has premises but no rule")
    if leaf.triple not in facts:
        raise WrongStepError(f"{spelled(leaf.triple)} is no fact of the graph")


def _check_step(step: Proof, rule: Rule) -> None:
    if isinstance(rule, ConstantRule):
        if not rule.fits([premise.triple for premise in step.premises], step.triple):
            raise WrongStepError(f"{spelled(step.triple)} is no instance of the rule {rule}")
        return
    expected = tuple(base_relation(relation) for relation in (rule.head, *rule.body))
    found = (step.triple.relation, *(premise.triple.relation for premise in step.premises))
    if expected != found:
        raise WrongStepError(f"{spelled(step.triple)}: {', '.join(found)} do not fit the rule {rule}")
    ends = [oriented(relation, p.triple) for relation, p in zip(rule.body, step.premises, strict=True)]
    conclusion = oriented(rule.head, step.triple)
    if isinstance(rule, IntersectionRule):
        fits = all(pair == conclusion for pair in ends)
    else:
        joined = all(left[1] == right[0] for left, right in itertools.pairwise(ends))
        fits = joined and conclusion == (ends[0][0], ends[-1][1])
    if not fits:
        premises = ", ".join(spelled(premise.triple) for premise in step.premises)
        raise WrongStepError(f"{spelled(step.triple)} does not follow from {premises} by {rule}")


def oriented(relation: str, triple: Triple) -> tuple[str, str]:
    """The pair that an atom over `relation` sees in `triple`: turned around for an inverse atom."""
    if is_inverse(relation):
        return (triple.tail, triple.head)
    return (triple.head, triple.tail)


def atom_triple(relation: str, start: str, end: str) -> Triple:
    """The triple that an atom `relation(start, end)` speaks of, never over an inverse relation."""
    if is_inverse(relation):
        return Triple(end, inverse_name(relation), start)
    return Triple(start, relation, end)


def no_facts_note(triples: KnowledgeGraph, facts: KnowledgeGraph) -> str | None:
    """A note that counts and names the triples that are no facts, or None where all are."""
    others = triples - facts
    if not others:
        return None
    shown = [spelled(triple) for triple in islice(others, _NAMED)]
    more = [f"{len(others) - _NAMED} more"] if len(others) > _NAMED else []
    told = "is no fact" if len(others) == 1 else "are no facts"
    return f"{len(others):,} of {counted(len(triples), 'triple')} {told}, and skipped: {', '.join([*shown, *more])}"
