"""Small random graphs and rules, and the slow and obvious meaning of features and scores."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.rulelist.rule_model import RuleModel, Tables, WeightedRule
from reshuffle.rules import IntersectionRule, PathRule, Rule

RELATIONS = ("r", "s", "t")
PEOPLE = tuple("abcdefgh")


def random_graph(seed: int, *, facts: int = 18, loops: bool = True) -> KnowledgeGraph:
    chance = np.random.default_rng(seed)
    triples = {
        (str(chance.choice(PEOPLE)), str(chance.choice(RELATIONS)), str(chance.choice(PEOPLE)))
        for _ in range(facts)
    }
    return KnowledgeGraph(sorted(t for t in triples if loops or t[0] != t[2]))


def random_rules(seed: int, *, number: int = 8) -> list[Rule]:
    chance = np.random.default_rng(1000 + seed)
    atoms = [*RELATIONS, *map(inverse_name, RELATIONS)]
    rules: dict[Rule, None] = {}
    while len(rules) < number:
        body = tuple(str(atom) for atom in chance.choice(atoms, int(chance.integers(1, 4))))
        head = str(chance.choice(RELATIONS))
        meets = len(set(body)) == len(body) > 1 and chance.random() < 0.4
        rule: Rule = IntersectionRule(body, head) if meets else PathRule(body, head)
        if not rule.is_tautology:
            rules[rule] = None
    return list(rules)


def random_model(seed: int, *, tables: bool = True) -> RuleModel:
    chance = np.random.default_rng(2000 + seed)
    weighted = tuple(
        WeightedRule(rule, round(float(chance.random() * 3), 4), round(float(chance.random()), 4))
        for rule in random_rules(seed)
    )
    zero = Tables.zero(RELATIONS)
    filled = Tables(
        RELATIONS,
        chance.normal(size=zero.distances.shape).round(4),
        chance.normal(size=zero.types.shape).round(4),
        chance.random(zero.shares.shape).round(4),
    )
    both_ways = frozenset({"s"} if seed % 2 else ())
    return RuleModel(weighted, filled if tables else zero, frozenset({"r"}), (1.5, 1.0, 0.5), both_ways)


def as_read(model: RuleModel, facts: set[Triple]) -> set[Triple]:
    """The facts, and the reverses of those that the model reads both ways."""
    return facts | {Triple(t, r, h) for h, r, t in facts if r in model.both_ways}


def edges(facts: set[Triple]) -> Counter[tuple[str, str, str]]:
    both = [*facts, *(Triple(t, inverse_name(r), h) for h, r, t in facts)]
    return Counter(tuple(triple) for triple in both)


def walks(facts: set[Triple], rule: Rule, head: str, tail: str) -> int:
    """The number of ways to fill the variables of a body, with the head's variables as given."""
    there = edges(facts)
    if isinstance(rule, IntersectionRule):
        return int(all((head, name, tail) in there for name in rule.body))
    counts = Counter({head: 1})
    for name in rule.body:
        following: Counter[str] = Counter()
        for here, relation, onward in there:
            if relation == name:
                following[onward] += counts[here]
        counts = following
    return counts[tail]


def steps(facts: set[Triple], start: str, end: str, most: int = 6) -> int:
    seen = {start}
    for number in range(most + 1):
        if end in seen:
            return number
        seen |= {t for h, _, t in edges(facts) if h in seen}
    return most + 1


def types(model: RuleModel, facts: set[Triple], directed: str, entity: str) -> float:
    """What the table of types adds."""
    names = [*model.relations, *map(inverse_name, model.relations)]
    roles = Counter(relation for _, relation, end in edges(facts) if end == entity)
    row = names.index(directed)
    share = max((float(model.tables.shares[row, names.index(role)]) for role in roles), default=0.0)
    features = math.log(share + 0.001), math.log(roles[directed] + 1), math.log(sum(roles.values()) + 1)
    return sum(w * f for w, f in zip(model.tables.types[row], features, strict=True))


def score(model: RuleModel, facts: set[Triple], triple: tuple[str, str, str], side: str) -> float:
    """The formula, word for word."""
    head, relation, tail = triple
    directed, answer = (relation, tail) if side == "tail" else (inverse_name(relation), head)
    row = [*model.relations, *map(inverse_name, model.relations)].index(directed)
    total = float(model.tables.distances[row, steps(facts, head, tail)]) + types(
        model, facts, directed, answer
    )
    for one in model.rules:
        back = one.rule.head != relation
        if one.rule.head not in (relation, inverse_name(relation)) or (
            head == tail and model.loops is not None and relation not in model.loops
        ):
            continue
        rule = one.rule.reversed() if back else one.rule
        total += one.part(walks(as_read(model, facts), rule, head, tail))
    return total
