"""Typed graphs of any size, made of random numbers, with rules planted in them: `python -m benchmarks.typed_graphs`.

Entities have types. A relation leads from one type to another, and relations, types and the ends of facts follow power
laws: a few entities, the hubs, have very many facts. Half of the relations are functions: each head has one tail, as
a person has one place of birth.

Into this graph rules of one to three atoms are planted. A planted relation has a body of its own, and holds for a share
of the pairs that the body joins; some of its facts are noise. The bodies end in functions, so that they join few pairs.
What was planted is known, and so one can tell how many of the rules a learner finds again.

A seed makes the same graph again, five million facts in seconds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.kg import KnowledgeGraph, Vocabulary, inverse_name
from reshuffle.rules import PathRule, Quality, RuleBase, write_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Ids = NDArray[np.int32]

WELL_SUPPORTED = 50
"""Facts that a planted rule must explain before a learner is asked for it."""


@dataclass(frozen=True)
class Shape:
    """What a generated graph is like."""

    facts: int
    """Their approximate number; duplicates are dropped."""
    facts_per_entity: int = 4
    types: int = 12
    relations: int = 60
    """Without the planted ones."""
    steepness: float = 1.05
    """How strongly facts gather at hubs: fact counts of entities fall with their rank to the power of this. Not 1."""
    planted: tuple[int, int, int] = (6, 18, 9)
    """How many rules of one, two and three atoms."""
    planted_share: float = 0.25
    """Of all facts."""
    noise: float = 0.2
    """The share of a planted relation's facts that no rule explains."""
    seed: int = 0


class Planted(NamedTuple):
    """A rule, how many facts it explains, and how many pairs its body joins."""

    rule: PathRule
    support: int
    pairs: int

    @property
    def is_well_supported(self) -> bool:
        """Could a learner be asked for it?"""
        return self.support >= WELL_SUPPORTED


@dataclass(frozen=True)
class TypedGraph:
    """Facts, and what was planted in them."""

    graph: KnowledgeGraph
    planted: tuple[Planted, ...]

    def found(self, rules: Iterable[object]) -> tuple[list[Planted], list[Planted]]:
        """The well supported rules that are among `rules`, and those that are not."""
        there = {(rule.body, rule.head) for rule in rules if isinstance(rule, PathRule)}
        asked = [one for one in self.planted if one.is_well_supported]
        hits = [(one.rule.body, one.rule.head) in there for one in asked]
        return [one for one, hit in zip(asked, hits, strict=True) if hit], [
            one for one, hit in zip(asked, hits, strict=True) if not hit
        ]

    def write(self, folder: str | Path) -> None:
        """`facts.parquet` and `planted.rules`, which says support and pairs of each rule."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.graph.write(f"{folder}/facts.parquet")
        write_rules(RuleBase(tuple(one.rule for one in self.planted)), f"{folder}/planted.rules")


def typed_graph(shape: Shape) -> TypedGraph:
    """A graph of this shape: made once to see how many facts are missing, where heads or pairs repeat, and again."""
    made = len(_Making(shape).made().graph)
    return _Making(replace(shape, facts=int(shape.facts * shape.facts / made)), shape.facts).made()


class _Relation(NamedTuple):
    domain: int
    range: int
    heads: Ids
    tails: Ids
    image: Ids | None
    """For a function: the tail of each entity, or -1."""


class _Making:
    def __init__(self, shape: Shape, asked: int = 0) -> None:
        self.shape, self.random = shape, np.random.default_rng(shape.seed)
        self.num_entities = max(10 * shape.types, (asked or shape.facts) // shape.facts_per_entity)
        sizes = _zipf(shape.types, 0.8) * (self.num_entities - 2 * shape.types)
        self.bounds = np.cumsum([0, *(sizes.astype(np.int64) + 2)])
        self.num_entities = int(self.bounds[-1])

    def made(self) -> TypedGraph:
        """First the relations that rules are about, then the planted ones."""
        shape = self.shape
        wanted = (1 - shape.planted_share) * shape.facts * _zipf(shape.relations, 0.7)
        self.base = [self._relation(int(size) + 5, number % 2 == 0) for number, size in enumerate(wanted)]
        relations, planted = list(self.base), list[Planted]()
        room = shape.planted_share * shape.facts / sum(shape.planted)
        for length, count in enumerate(shape.planted, start=1):
            for _ in range(count):
                facts, told = self._planted(length, int(room), len(relations))
                relations.append(facts)
                planted.append(told)
        return TypedGraph(self._graph(relations), tuple(planted))

    def _graph(self, relations: list[_Relation]) -> KnowledgeGraph:
        numbers = np.repeat(np.arange(len(relations), dtype=np.int32), [len(one.heads) for one in relations])
        names = pc.binary_join_element_wise("e", pa.array(np.arange(self.num_entities)).cast(pa.string()), "")
        return KnowledgeGraph.from_ids(
            np.concatenate([one.heads for one in relations]),
            numbers,
            np.concatenate([one.tails for one in relations]),
            entities=Vocabulary(names.cast(pa.large_string()), kind="entity"),
            relations=Vocabulary([_name(number) for number in range(len(relations))], kind="relation"),
        )

    def _relation(self, size: int, is_function: bool) -> _Relation:
        domain, range_ = (int(self.random.integers(self.shape.types)) for _ in range(2))
        if not is_function:
            return _Relation(domain, range_, self._ends(domain, size), self._ends(range_, size), None)
        first, last = self.bounds[domain], self.bounds[domain + 1]
        heads = self.random.permutation(np.arange(first, last, dtype=np.int32))[:size]
        tails = self._ends(range_, len(heads))
        image = np.full(self.num_entities, -1, dtype=np.int32)
        image[heads] = tails
        return _Relation(domain, range_, heads, tails, image)

    def _ends(self, kind: int, size: int) -> Ids:
        """Entities of a type, its hubs more often than others."""
        count = int(self.bounds[kind + 1] - self.bounds[kind])
        power = 1 - self.shape.steepness
        ranks = ((self.random.random(size) * ((count + 1) ** power - 1)) + 1) ** (1 / power) - 1
        found: Ids = (self.bounds[kind] + np.minimum(ranks.astype(np.int64), count - 1)).astype(np.int32)
        return found

    def _planted(self, length: int, room: int, number: int) -> tuple[_Relation, Planted]:
        """A relation that follows from a body of that length, with about `number` facts."""
        codes, heads, tails = self._body(length, room)
        if length == 1 and self.random.random() < 0.5:
            codes, heads, tails = [-codes[0] - 1], tails, heads
        pairs = np.unique(heads.astype(np.int64) * self.num_entities + tails)
        explained = max(1, int((1 - self.shape.noise) * room))
        kept = self.random.permutation(pairs)[: min(explained, int(0.8 * len(pairs)) + 1)]
        heads, tails = (
            (kept // self.num_entities).astype(np.int32),
            (kept % self.num_entities).astype(np.int32),
        )
        noise = int(len(kept) * self.shape.noise / (1 - self.shape.noise))
        facts = _Relation(
            0,
            0,
            np.concatenate([heads, self.random.choice(heads, noise)]),
            np.concatenate([tails, self.random.choice(tails, noise)]),
            None,
        )
        body = tuple(_name(code) if code >= 0 else inverse_name(_name(-code - 1)) for code in codes)
        quality = Quality(len(pairs), len(kept), len(kept) / len(pairs))
        return facts, Planted(PathRule(body, _name(number), quality), len(kept), len(pairs))

    def _body(self, length: int, room: int) -> tuple[list[int], Ids, Ids]:
        """Any relation, and behind it functions that lead on; of some tries the one that joins most pairs."""
        best: tuple[list[int], Ids, Ids] | None = None
        for _ in range(200):
            walk = self._walk(length)
            if len(walk[0]) == length and (best is None or len(walk[1]) > len(best[1])):
                best = walk
            if best is not None and len(best[1]) > 1.2 * room:
                break
        if best is None:
            raise ValueError(f"no body of {length} atoms: give more relations, or fewer types")
        return best

    def _walk(self, length: int) -> tuple[list[int], Ids, Ids]:
        first = int(self.random.integers(len(self.base)))
        codes, heads, tails, here = [first], *self.base[first][2:4], self.base[first].range
        while len(codes) < length:
            onward = [
                n for n, one in enumerate(self.base)
                if one.image is not None and one.domain == here and n not in codes
            ]  # fmt: skip
            if not onward:
                break
            codes.append(int(self.random.choice(onward)))
            image = self.base[codes[-1]].image
            assert image is not None
            led = image[tails] >= 0
            heads, tails, here = heads[led], image[tails[led]], self.base[codes[-1]].range
        return codes, heads, tails


def _name(relation: int) -> str:
    return f"r{relation}"


def _zipf(count: int, power: float) -> NDArray[np.float64]:
    shares = np.arange(1, count + 1, dtype=np.float64) ** -power
    found: NDArray[np.float64] = shares / shares.sum()
    return found


def main() -> None:
    """Write a graph and its rules to a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("facts", type=int)
    parser.add_argument("folder")
    parser.add_argument("--relations", type=int, default=Shape.relations)
    parser.add_argument("--steepness", type=float, default=Shape.steepness)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    made = typed_graph(
        Shape(given.facts, relations=given.relations, steepness=given.steepness, seed=given.seed)
    )
    made.write(given.folder)
    well = sum(one.is_well_supported for one in made.planted)
    rules = f"{len(made.planted)} rules planted, {well} of them well supported"
    print(f"{given.folder}: {len(made.graph):,} facts, {rules}")


if __name__ == "__main__":
    main()
