"""Rules with constants as rules without them: a constant is the end of a helper fact.

A condition on a variable X becomes a pair (relation, entity): X meets it just if the relation leads from X to that
entity. The relation depends on the shape of the condition alone, the entity on its constants, so the number of rules
does not grow with the number of constants. Names that start with `~` are helpers; each is kept for one shape.

| condition on X | relation | entity | rules for the relation |
| --- | --- | --- | --- |
| `b(X, d)` | `b` | d | |
| `b(X, A)`, and nothing else of A | `~via[b, ~anything]` | the hub | `b ; ~anything -> ~via` |
| `b(X, A)`, and A meets (r, e) | `~via[b, r]` | e | `b ; r -> ~via` |
| ... and is `b2(A, d)` | `~only[b2]` for r | a node for (b2, d) | `b2 ; ~at[b2] -> ~only` |
| (r1, e1) and (r2, e2) | `~all[r1, r2]` | a node for both | `ri ; ~end[.., i] -> ~part[.., i]`, and their meet |
| `b(A, d)`, which does not speak of X | `~wherever[r]` | e of A | `~anything ; ~anything^-1 ; r -> ~wherever` |
| X is the entity d | `~same` | d | |
| none: X is any entity | `~anything` | the hub | |

`~only` has the ends that some rule asks for and no others, so that all of `b ; b2` is never made.

A rule whose conclusion has one variable, `... -> h(X, c)`, is then `r ; ~then[r, h] -> h` and the helper fact
`~then[r, h](e, c)`. One with two variables that the body does not link, `b1(X, d) & b2(e, Y) -> h(X, Y)`, is
`r1 ; ~then[r1, h, r2] ; r2^-1 -> h` and `~then(e1, e2)`. Since e stands for the whole condition, no two rules mix.

Each entity that facts or rules name has a helper fact `~anything` that leads to the hub. Helper facts go in and hidden
names come out in `reasoning.constant_answers`; engines know nothing of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, inverse_name
from reshuffle.kg.rows import COLUMNS
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import BY_LITERAL, domains_of
from reshuffle.rules.linked_variables import Links
from reshuffle.rules.rule import SAME, ConstantRule, DisjointEnds, IntersectionRule, PathRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Sequence

    from reshuffle.errors import Place
    from reshuffle.rules.rule import Rule, Term

ANYTHING = "~anything"
KEPT = "~reshuffle: "
"""What the names of made-up entities begin with."""
HUB = f"{KEPT}every entity leads here"
_RELATION, _NODE = f"{KEPT}relation", f"{KEPT}condition"
_LITERAL = base_relation(BY_LITERAL.body[0])

Fact: TypeAlias = tuple[str, str, str]
Condition: TypeAlias = tuple[str, str]
"""A relation and an entity: it leads there from whatever meets the condition."""


def encoding_of(base: RuleBase) -> Encoding | None:
    """The encoding of a rule base, made once; None where it has no rule with constants."""
    if base.source is not None:
        return encoding_of(base.source)
    known = vars(base)  # a frozen dataclass keeps what is derived from it where `cached_property` does
    if "encoding" not in known:
        apart = any(isinstance(pair, DisjointEnds) or pair.second == SAME for pair in base.disjointness)
        needed = apart or any(isinstance(rule, ConstantRule) for rule in base.given)
        known["encoding"] = _Encoder(base).encoding() if needed else None
    found: Encoding | None = known["encoding"]
    return found


def without_constants(base: RuleBase) -> RuleBase:
    """The base itself, or the encoded one, over which helper facts are needed."""
    encoding = encoding_of(base)
    return base if encoding is None else encoding.base


def spoken(base: RuleBase | None, relation: str) -> str:
    """A relation as pictures and messages name it: a helper by what it stands for."""
    encoding = None if base is None else encoding_of(base)
    hidden = encoding is not None and base_relation(relation) in encoding.relations
    return "(constants)" if hidden else relation


@dataclass(frozen=True)
class Encoding:
    """What stands for a rule base with constants."""

    base: RuleBase
    """Paths and intersections; its `fresh` relations are derived helpers."""
    by_helper: dict[Fact, ConstantRule | None]
    """The helper facts; one that concludes a rule has that rule beside it."""
    nodes: frozenset[str]
    """Entities that are made up."""
    named: tuple[str, ...]
    """Entities that the rules name, each once."""
    origins: dict[Rule, ConstantRule]
    """For each rule that is made up, the first one that it was made for."""
    speaks_of_everything: bool
    """Does a rule conclude something of every entity that there is?"""

    @cached_property
    def relations(self) -> frozenset[str]:
        """All helper relations, which no answer may show."""
        given = {ANYTHING, SAME, _LITERAL, *(relation for _, relation, _ in self.by_helper)}
        return self.base.fresh.union(given)

    @property
    def needs_entities(self) -> bool:
        """Must every entity have its helper fact?"""
        return ANYTHING in map(base_relation, self.base.relations)

    def helper_table(self) -> pa.Table:
        """The helper facts, without those that each entity of the facts has."""
        columns: list[Sequence[str]] = (
            [*zip(*self.by_helper, strict=True)] if self.by_helper else [(), (), ()]
        )
        if self.needs_entities:
            everyone = self.named, [ANYTHING] * len(self.named), [HUB] * len(self.named)
            columns = [[*some, *more] for some, more in zip(columns, everyone, strict=True)]
        return pa.table(
            {name: pa.array(column, pa.string()) for name, column in zip(COLUMNS, columns, strict=True)}
        )

    @cached_property
    def helpers(self) -> KnowledgeGraph:
        """The helper facts as a graph."""
        return KnowledgeGraph.from_arrow(self.helper_table())

    def refuse_kept_names(
        self, relations: Container[str], entities: Container[str] = (), *, place: Place | None = None
    ) -> None:
        """Refuse facts that use a helper relation or a made-up entity."""
        for what, kept, used in (("relation", self.relations, relations), ("entity", self.nodes, entities)):
            if taken := [name for name in kept if name in used]:
                raise InputError(
                    f"facts use the {what} '{min(taken)}', whose name is kept for rules with constants",
                    place=place,
                    hint="rename it in the facts",
                )


class _Encoder:
    """One pass over the rules; each shape is made up once."""

    def __init__(self, base: RuleBase) -> None:
        self._source = base
        self._given: dict[Rule, None] = {}
        self._origins: dict[Rule, ConstantRule] = {}
        self._names: dict[Hashable, str] = {}
        self._derived: set[str] = set()
        self._nodes: dict[Hashable, str] = {}
        self._by_helper: dict[Fact, ConstantRule | None] = {}
        self._named: dict[str, None] = {}
        self._rule: ConstantRule | None = None  # the one that is being encoded
        self._of_everything = False
        self._of_shape: dict[tuple[str, bool, str, bool], str] = {}

    def encoding(self) -> Encoding:
        for rule in self._source.given:
            if not isinstance(rule, ConstantRule):
                self._given[rule] = None
            elif not (rule.is_tautology or self._encoded_at_once(rule)):
                self._encode(rule)
        for pair in self._source.disjointness:
            if isinstance(pair, DisjointEnds):
                self._named |= dict.fromkeys(end for _, end in pair.sides)
                if pair.second == SAME:
                    self._fact(pair.second_end, SAME, pair.second_end)
        if any(True for _ in domains_of(self._source)):
            self._given[BY_LITERAL] = None
        base = replace(
            self._source,
            given=tuple(self._given),
            fresh=self._source.fresh | self._derived,
            source=self._source,
            facts=(),
        )
        nodes = frozenset([HUB, *self._nodes.values()])
        return Encoding(base, self._by_helper, nodes, tuple(self._named), self._origins, self._of_everything)

    def _encode(self, rule: ConstantRule) -> None:
        self._rule = rule
        self._named |= dict.fromkeys(rule.constants)
        relation, start, end = rule.conclusion
        condition, other = self._conditions(rule)
        self._of_everything |= condition[0] == ANYTHING
        head = inverse_name(relation) if isinstance(start, str) and isinstance(end, int) else relation
        if isinstance(other, tuple):
            then = self._name(("then", condition[0], head, other[0]))
            self._add(PathRule((condition[0], then, inverse_name(other[0])), head))
            self._fact(condition[1], then, other[1], rule)
        else:
            then = self._name(("then", condition[0], head))
            self._add(PathRule((condition[0], then), head))
            self._fact(condition[1], then, other, rule)

    def _encoded_at_once(self, rule: ConstantRule) -> bool:
        """Encode a rule `b(X, d) -> h(X, c)`, of which miners find hundreds of thousands; False for any other."""
        if len(rule.atoms) != 1:
            return False
        (relation, start, end), (head, first, second) = rule.atoms[0], rule.conclusion
        ahead, forwards = isinstance(end, str), isinstance(second, str)
        if isinstance(start, str) == ahead or isinstance(first, str) == forwards:
            return False
        entity, other = str(end if ahead else start), str(second if forwards else first)
        shape = (relation, ahead, head, forwards)
        then = self._of_shape.get(shape)
        if then is None:
            self._rule = rule
            condition = relation if ahead else inverse_name(relation)
            directed = head if forwards else inverse_name(head)
            then = self._of_shape[shape] = self._name(("then", condition, directed))
            self._add(PathRule((condition, then), directed))
        self._by_helper.setdefault((entity, then, other), rule)
        self._named[entity] = self._named[other] = None
        return True

    def _conditions(self, rule: ConstantRule) -> tuple[Condition, Condition | str]:
        """The condition on the conclusion's first variable, and its other end: a condition, too, or an entity."""
        links = Links(rule)
        one, other = links.asked
        apart = [self._wherever(self._met(links, root)) for root in links.roots_apart]
        condition = self._all([*self._conditions_on(links, one), *apart])
        if isinstance(other, str):
            return condition, other
        return condition, self._met(links, other)

    # --- conditions ---------------------------------------------------------------------------------

    def _met(self, links: Links, variable: int, behind: int | None = None) -> Condition:
        return self._all(self._conditions_on(links, variable, behind))

    def _conditions_on(self, links: Links, variable: int, behind: int | None = None) -> list[Condition]:
        """What the rule asks of a variable, but for what lies behind another one."""
        found = [(SAME, links.same_as[variable])] if variable in links.same_as else []
        for name in found:
            self._fact(name[1], SAME, name[1])
        for other, relations in links.of(variable):
            if other != behind:
                found += self._linked(links, variable, other, relations)
        return found

    def _linked(
        self, links: Links, variable: int, other: Term, relations: tuple[str, ...]
    ) -> list[Condition]:
        if isinstance(other, str):
            return [(relation, other) for relation in relations]
        relation, end = self._only(self._met(links, other, variable))
        return [(self._path("via", (self._together(relations), relation)), end)]

    def _all(self, conditions: Sequence[Condition]) -> Condition:
        each = sorted(dict.fromkeys(conditions))
        if not each:
            return ANYTHING, HUB
        if len(each) == 1:
            return each[0]
        shape, ends = tuple(relation for relation, _ in each), tuple(end for _, end in each)
        node, parts = self._node(("all", shape, ends)), []
        for place, (relation, end) in enumerate(each):
            leads = self._name(("end", shape, place))
            parts.append(self._path(("part", shape, place), (relation, leads)))
            self._fact(end, leads, node)
        met = self._derive(("all", shape))
        self._add(IntersectionRule(tuple(parts), met))
        return met, node

    def _only(self, condition: Condition) -> Condition:
        """The same condition by a relation that leads to nothing else but ends that some rule asks for."""
        relation, end = condition
        if relation in self._derived or relation in (ANYTHING, SAME):
            return condition
        at, node = self._name(("at", relation)), self._node(("only", relation, end))
        self._fact(end, at, node)
        return self._path("only", (relation, at)), node

    def _wherever(self, condition: Condition) -> Condition:
        """What every entity meets if some entity meets the condition."""
        relation, end = self._only(condition)
        some = self._path("some", (inverse_name(ANYTHING), relation))
        return self._path("wherever", (ANYTHING, some)), end

    def _together(self, relations: tuple[str, ...]) -> str:
        if len(relations) == 1:
            return relations[0]
        met = self._derive(("together", relations))
        self._add(IntersectionRule(relations, met))
        return met

    # --- names --------------------------------------------------------------------------------------

    def _name(self, key: Hashable) -> str:
        return self._names.setdefault(key, f"{_RELATION} {len(self._names) + 1}")

    def _node(self, key: Hashable) -> str:
        return self._nodes.setdefault(key, f"{_NODE} {len(self._nodes) + 1}")

    def _derive(self, key: Hashable) -> str:
        name = self._name(key)
        self._derived.add(name)
        return name

    def _path(self, kind: Hashable, body: tuple[str, ...]) -> str:
        head = self._derive((kind, body))
        self._add(PathRule(body, head))
        return head

    def _add(self, rule: PathRule | IntersectionRule) -> None:
        turned = rule.reversed() if is_inverse(rule.head) else rule
        if turned not in self._given:
            assert self._rule is not None
            self._given[turned] = None
            self._origins[turned] = self._rule

    def _fact(self, head: str, relation: str, tail: str, rule: ConstantRule | None = None) -> None:
        self._by_helper.setdefault((head, relation, tail), rule)
