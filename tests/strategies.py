"""Random rule bases and graphs for the property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reshuffle.rulegraphs import Edge, RuleGraph
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.rule import Constant, ConstantRule

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from reshuffle.rules import Rule
    from reshuffle.rules.entailment import Fact


def relation_names(count: int, *, inverses: bool = False) -> SearchStrategy[str]:
    """One of r1 ... r`count`, or also one of their inverses."""
    names = [f"r{number}" for number in range(1, count + 1)]
    return st.sampled_from([*names, *(f"{name}^-1" for name in names)] if inverses else names)


def path_rules(relations: int, *, longest: int = 3, inverses: bool = False) -> SearchStrategy[Rule]:
    """Closed path rules with bodies of 1 to `longest` atoms."""
    names = relation_names(relations, inverses=inverses)
    bodies = st.lists(names, min_size=1, max_size=longest).map(tuple)
    return st.builds(PathRule, bodies, relation_names(relations))


def intersection_rules(relations: int, *, inverses: bool = False) -> SearchStrategy[Rule]:
    """Intersections of two or three relations."""
    names = relation_names(relations, inverses=inverses)
    bodies = st.lists(names, min_size=2, max_size=3, unique=True).map(tuple)
    return st.builds(IntersectionRule, bodies, relation_names(relations))


@st.composite
def rule_bases(
    draw: st.DrawFn,
    *,
    most_relations: int = 4,
    most_rules: int = 4,
    longest: int = 3,
    intersections: bool = False,
    inverses: bool = False,
) -> RuleBase:
    """Rule bases of 1 to `most_rules` rules over 2 to `most_relations` relations."""
    relations = draw(st.integers(2, most_relations))
    kinds = path_rules(relations, longest=longest, inverses=inverses)
    if intersections:
        kinds = st.one_of(kinds, intersection_rules(relations, inverses=inverses))
    return RuleBase(tuple(draw(st.lists(kinds, min_size=1, max_size=most_rules))))


# Bodies and heads of rules with constants: upper case is a variable, lower case stands for a constant.
SHAPES = [
    ("X d", "X c"), ("d X", "c X"), ("X d", "c X"), ("d X", "X c"), ("X A", "X c"), ("A X", "c X"),
    ("X A|A d", "X c"), ("A X|A d", "c X"), ("X A|B A|B d", "X c"), ("X A|A B", "X c"), ("X d|X e", "X c"),
    ("X d|X A", "X c"), ("X A|X B", "c X"), ("X A|X B|X d", "X c"), ("X A|A d|A e", "X c"), ("X A|A d|X e", "X c"),
    ("X A|X A|A d", "X c"), ("d e", "c f"), ("A d", "c f"), ("A B", "c f"), ("A B|X d", "X c"), ("d e|X f", "X c"),
    ("", "X c"), ("", "c d"), ("X d|e Y", "X Y"), ("X d|d Y", "X Y"), ("X A|A d|e Y", "X Y"), ("X d|X e|f Y", "X Y"),
    ("X A|Y d", "X Y"), ("d X|e Y|A f", "Y X"), ("X d|A d|A e", "X c"),
]  # fmt: skip


@st.composite
def constant_rules(draw: st.DrawFn, relations: int = 3) -> ConstantRule:
    """Rules of all these shapes over few constants, so that rules share them."""
    body, head = draw(st.sampled_from(SHAPES))
    constants = {name: Constant(draw(st.sampled_from(["e1", "e2", "k1"]))) for name in "cdef"}
    *atoms, conclusion = (
        (draw(relation_names(relations)), constants.get(start, start), constants.get(end, end))
        for start, end in map(str.split, [*filter(None, body.split("|")), head])
    )
    return ConstantRule.of(atoms, conclusion)


@st.composite
def bases_with_constants(draw: st.DrawFn, *, relations: int = 3, most_rules: int = 5) -> RuleBase:
    """Several rules with constants, and others beside them, over few relations: what mixes, if anything does."""
    kinds = st.one_of(
        constant_rules(relations),
        constant_rules(relations),
        path_rules(relations, longest=2, inverses=True),
        intersection_rules(relations),
    )
    return RuleBase((draw(constant_rules(relations)), *draw(st.lists(kinds, max_size=most_rules - 1))))


@st.composite
def fact_lists(draw: st.DrawFn, *, relations: int = 4, entities: int = 5, most: int = 12) -> list[Fact]:
    """Triples over e1 ... and r1 ..., duplicates and self-loops included."""
    entity = st.integers(1, entities).map(lambda number: f"e{number}")
    return draw(st.lists(st.tuples(entity, relation_names(relations), entity), max_size=most))


# --- rule bases of one class each ---------------------------------------------------------------------------


@st.composite
def acyclic_bases(draw: st.DrawFn, *, relations: int = 5, most_rules: int = 5) -> RuleBase:
    """Bodies of lower relations than the head."""
    rules: list[Rule] = []
    for _ in range(draw(st.integers(1, most_rules))):
        head = draw(st.integers(2, relations))
        rules.append(_rule(draw, _below(head), f"r{head}"))
    return _with_twins(draw, rules, {f"r{n}": _below(n) for n in range(2, relations + 1)})


@st.composite
def left_regular_bases(
    draw: st.DrawFn, *, most_rules: int = 5, longest: int = 3, shortest: int = 1
) -> RuleBase:
    """After the first atom only relations that no rule derives. With bodies of two atoms: the paper's class."""
    heads, others = ["r1", "r2", "r3"], ["r4", "r5"]
    rules: list[Rule] = []
    for _ in range(draw(st.integers(1, most_rules))):
        first = draw(st.sampled_from(heads + others))
        rest = st.lists(st.sampled_from(others), min_size=shortest - 1, max_size=longest - 1)
        rules.append(PathRule((first, *draw(rest)), draw(st.sampled_from(heads))))
    return _with_twins(draw, rules, {head: [*heads, *others] for head in heads})


@st.composite
def right_regular_bases(draw: st.DrawFn) -> RuleBase:
    """The mirror images of left-regular bases."""
    mirrored = draw(left_regular_bases())
    return RuleBase(tuple(PathRule(rule.body[::-1], rule.head) for rule in mirrored.path_rules))


# How a rule may call its own level: `X` is a relation of the level, `w` a word of lower ones.
_SHAPES = {
    "left": ["w", "X", "Xw"],
    "right": ["w", "X", "wX"],
    "both": ["w", "XX", "Xw", "wX", "XwX"],
}


@st.composite
def regular_bases(draw: st.DrawFn, *, levels: int = 3) -> RuleBase:
    """Each level recurs on the left, on the right, on both sides, or not at all; lower levels nest in higher."""
    known = ["r1", "r2"]
    rules: list[Rule] = []
    for level in range(1, draw(st.integers(1, levels)) + 1):
        members = [f"x{level}", f"y{level}"][: draw(st.integers(1, 2))]
        shape = draw(st.sampled_from(["left", "right"] if len(members) == 2 else ["both"]))
        parts = {"X": st.sampled_from(members).map(lambda name: [name]), "w": _words(known)}
        for _ in range(draw(st.integers(1, 3))):
            pattern = draw(st.sampled_from(_SHAPES[shape]))
            body = [relation for part in pattern for relation in draw(parts[part])]
            rules.append(PathRule(tuple(body), draw(st.sampled_from(members))))
        if len(members) == 2 and draw(st.booleans()):  # relations that imply each other: one symbol
            rules += [PathRule((f"x{level}",), f"y{level}"), PathRule((f"y{level}",), f"x{level}")]
        known += members
    return RuleBase(tuple(rules))


def _words(relations: list[str]) -> SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(relations), min_size=1, max_size=2)


@st.composite
def hierarchy_intersection_bases(draw: st.DrawFn, *, inverses: bool = False) -> RuleBase:
    """One-atom rules, cycles of them included, and intersections."""
    relations = draw(st.integers(3, 5))
    one_atom = path_rules(relations, longest=1, inverses=inverses)
    kinds = st.one_of(one_atom, intersection_rules(relations, inverses=inverses))
    rules = draw(st.lists(kinds, min_size=1, max_size=5))
    proper = intersection_rules(relations, inverses=inverses).filter(lambda rule: not rule.is_tautology)
    return RuleBase((draw(proper), *rules))


@st.composite
def mixed_bases(draw: st.DrawFn) -> RuleBase:
    """Regular paths below, intersections of what they define above, and paths into intersection heads."""
    paths = draw(regular_bases(levels=2))
    below, above = list(paths.relations), ["z1", "z2"]
    rules = list(paths.rules)
    for _ in range(draw(st.integers(1, 2))):
        body = draw(st.lists(st.sampled_from(below + above), min_size=2, max_size=3, unique=True))
        head = draw(st.sampled_from([name for name in [*above, "z3"] if name not in body]))
        rules.append(IntersectionRule(tuple(body), head))
    for _ in range(draw(st.integers(0, 2))):
        body = draw(st.one_of(_words(below), st.sampled_from(above).map(lambda name: [name])))
        rules.append(PathRule(tuple(body), draw(st.sampled_from([*above, "z3"]))))
    return RuleBase(tuple(rules))


def _below(number: int) -> list[str]:
    return [f"r{lower}" for lower in range(1, number)]


def _rule(draw: st.DrawFn, parts: list[str], head: str, *, longest: int = 3) -> PathRule:
    body = draw(st.lists(st.sampled_from(parts), min_size=1, max_size=longest))
    return PathRule(tuple(body), head)


def _with_twins(draw: st.DrawFn, rules: list[Rule], first_atoms: dict[str, list[str]]) -> RuleBase:
    """With rules that share head and last atom with another rule: where the printed constructions fail."""
    for rule in tuple(rules):
        if len(rule.body) >= 2 and draw(st.booleans()):
            first = draw(st.sampled_from(first_atoms[rule.head]))
            rules.append(PathRule((first, *rule.body[1:]), rule.head))
    return RuleBase(tuple(rules))


# --- graphs ---------------------------------------------------------------------------------------------------


@st.composite
def rule_graphs(draw: st.DrawFn, *, most_nodes: int = 5, relations: int = 3) -> RuleGraph:
    """Any graphs with (R2), identities and loops included: what the lemmas on single matrices ask for."""
    nodes = draw(st.integers(1, most_nodes))
    edges = []
    for label in [*(f"r{number}" for number in range(1, relations + 1)), "eq"]:
        for target in range(nodes):
            source = draw(st.integers(-1, nodes - 1))
            if source >= 0 and (label, source) != ("eq", target):
                edges.append(Edge(source, label, target))
    return RuleGraph(nodes, tuple(edges), frozenset({"eq"}))
