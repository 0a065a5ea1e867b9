"""Embedded demo data: two populations of families, and the rules that hold among them.

A triple (Ada, father, Otto) says that Ada's father is Otto. Parents, children, marriages, brothers, sisters and
shared birthdays are given; everything else follows by `RULES`, so it is known which rules a learner should find.

The populations are irregular: parents may be unmarried, some people marry twice, and brothers and sisters may share
only one parent. Each person has a page of records, and each record is missing with some probability, so a marriage or a
birth may be known from one side only. Derived triples follow from the records that exist. So `RULES` have no
exceptions, but most indirect rules (`husband^-1 -> wife`) do.

Our rules have no "different from": `parent^-1;parent -> sibling` would make everyone their own sibling. So `brother`
and `sister` are given, between different persons, and nobody has children with a relative.

>>> demo = families(seed=0)
>>> print(demo.benchmark.train)
<GraphSplit: ... facts, ... valid, ... queries, ... entities>
>>> print(demo.rules.by_head["uncle"][0])
parent(X, Y) & brother(Y, Z) -> uncle(X, Z)
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.data.cards import DataCard, GraphCard
from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.rules.rule import IntersectionRule, PathRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.kg.splits import GraphSplit

NAME = "families"

_HIERARCHIES = {
    "parent": ("father", "mother"),
    "child": ("son", "daughter"),
    "spouse": ("husband", "wife"),
    "sibling": ("brother", "sister"),
}
_PATHS = {
    "grandparent": ("parent parent",),
    "grandfather": ("parent father",),
    "grandmother": ("parent mother",),
    "uncle": ("parent brother",),
    "aunt": ("parent sister",),
    "cousin": ("uncle child", "aunt child"),
    "nephew": ("sibling son",),
    "niece": ("sibling daughter",),
    "father-in-law": ("spouse father",),
    "mother-in-law": ("spouse mother",),
    "brother-in-law": ("spouse brother", "sister husband"),
    "sister-in-law": ("spouse sister", "brother wife"),
    "son-in-law": ("daughter husband",),
    "daughter-in-law": ("son wife",),
    "ancestor": ("parent", "parent ancestor"),
}

RULES = RuleBase(
    (
        *(PathRule((body,), head) for head, bodies in _HIERARCHIES.items() for body in bodies),
        *(PathRule(tuple(body.split()), head) for head, bodies in _PATHS.items() for body in bodies),
        IntersectionRule(("sibling", "sharesBirthday"), "twin"),
    )
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_WOMEN = _words("""
    Ada Alma Anouk Beata Bruna Carla Celia Clara Daria Dora Edda Elin Elsa Emma Erika Esther Fanny Flora
    Frida Gerda Greta Hanna Hedda Helga Ida Ilse Ines Inga Irma Jana Judith Karin Klara Lea Lena Lina Lotte
    Luisa Lydia Mara Marta Mina Mira Nadia Nele Nina Nora Olga Paula Petra Rita Rosa Runa Ruth Selma Signe
    Sofia Stella Svea Tessa Thea Tilda Ulla Vera Viola Wanda Wilma Ylva Zoe
""")
_MEN = _words("""
    Aaron Adam Albin Anton Arno Axel Basil Boris Bruno Carl Casper Cyril Dario David Edgar Elias Emil Enno
    Erik Ernst Ewald Fabian Felix Finn Frans Georg Gregor Gustav Hannes Harald Henrik Hugo Igor Ivar Jakob
    Jaro Jonas Julius Karel Kasimir Konrad Lars Leo Linus Lorenz Lukas Magnus Marek Matti Milo Moritz Nils
    Oskar Otto Pavel Philip Quentin Rasmus Robin Ruben Simon Stefan Sven Theo Tomas Urban Viktor Walter Yuri
""")
_SURNAMES = _words("""
    Amberbrook Applemoor Ashenwold Barleycroft Beechhollow Birkenfall Bramblewick Brightwater Cedarholt
    Chalkdown Cinderford Cloverby Coppergate Crabtreemoor Dewhurstle Driftmere Duskwood Eldermarsh Elmbarrow
    Emberlow Fennelworth Fernhaven Fieldgarth Flintridge Foxmantle Frostvale Glimmerby Goldenrye Gorsefell
    Greyheron Harrowbank Hawthornby Hazelgrove Heathermoor Honeyfen Iceworthy Ivyscar Juniperholm Kestrelby
    Lanternhill Larkmeadow Lichenford Lindenshaw Mapleholt Marigoldby Meadowlark Millfrost Mistlethorn
    Mossgarden Nettlecombe Northwillow Oakenshade Orchardley Otterbourne Pebblewick Pinemarrow Plumstead
    Quillhaven Ravenbeck Reedwater Rosehipley Rowanmere Rushlight Saltmarshe Sedgewillow Silverbirch
    Sloeberry Snowdropley Sorrelbank Sparrowhithe Stonecropper Summerlea Tamarackby Tansymoor Thistledown
    Thornapple Thrushfield Timberlow Umberfield Valerianby Violetshaw Wheatfallow Wildgarth Willowisp
    Winterbourne Woodruffley Wrenhollow Yarrowfield Yewbarrow Zephyrdale
""")

Triple: TypeAlias = tuple[str, str, str]
Pairs: TypeAlias = set[tuple[str, str]]
_CHILDREN = (1, 1, 2, 2, 3, 4)  # drawn evenly: 2.2 per couple
_TWIN_SHARE = 0.2  # of births
_COUPLED_SHARE = 0.85  # of people have children with somebody,
_AGAIN_SHARE = 0.4  # some of them later with somebody else,
_MARRIED_SHARE = 0.8  # of couples are married
_KNOWN_SHARE = 0.65  # of records,
_KNOWN_SISTERS = 0.55  # and of sisters fewer, as in old registers
_SMALLEST, _LARGEST = 20, 1000
_HELD_OUT_SHARE = 0.1  # of each derived relation, once for validation and once for the queries


@dataclass(frozen=True)
class Families:
    """The demo data and the rules that made it.

    The facts of both graphs hold every given triple and most derived ones; the held-out triples are derived,
    so every one of them follows from the facts by `rules`.
    """

    seed: int
    rules: RuleBase
    benchmark: InductiveBenchmark


def families(seed: int = 0, *, size: int = 180) -> Families:
    """Two populations of about `size` persons each, without a name in common."""
    if not _SMALLEST <= size <= _LARGEST:
        raise InputError(
            f"size={size}: a population has {_SMALLEST} to {_LARGEST:,} persons",
            hint="for more data, generate several populations with different seeds",
        )
    rng = random.Random(seed)
    surnames = rng.sample(_SURNAMES, len(_SURNAMES))
    half = len(surnames) // 2
    train = _held_out(rng, _triples(rng, _population(rng, surnames[:half], size)))
    test = _held_out(rng, _triples(rng, _population(rng, surnames[half:], size)))
    benchmark = InductiveBenchmark.from_graphs(
        NAME,
        **{f"train_{split}": KnowledgeGraph(triples) for split, triples in train.items()},
        **{f"test_{split}": KnowledgeGraph(triples) for split, triples in test.items()},
    )
    return Families(seed, RULES, benchmark)


def families_card() -> DataCard:
    """The data card of `families()`, counted from the data itself."""
    benchmark = families().benchmark
    return DataCard(
        name=NAME,
        title="Kinship in two made-up populations, with the rules that made it",
        kind="inductive",
        origin="Generated by this package from a seed; the persons are invented.",
        licence="MIT, as this package",
        graphs={"train": _graph_card(benchmark.train), "test": _graph_card(benchmark.test)},
        notes=(
            "Every held-out triple follows from the facts by the rules of reshuffle.data.families.RULES.",
            "A third of the records that no rule derives is missing; what follows from the others is complete.",
        ),
    )


def _graph_card(split: GraphSplit) -> GraphCard:
    sizes = {"facts": len(split.facts), "valid": len(split.valid), "queries": len(split.queries)}
    everything = split.triples
    relations = len(set(everything.relation_ids.tolist()))
    return GraphCard(relations, everything.num_entities, len(everything), sizes, files={})


# --- who there is ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Person:
    name: str
    is_woman: bool
    parents: tuple[_Person, ...] = ()  # father, mother
    birthday: int = 0
    spouses: list[_Person] = field(default_factory=list)
    children: list[_Person] = field(default_factory=list)

    @property
    def siblings(self) -> list[_Person]:
        """The persons who share a parent, or both."""
        shared = dict.fromkeys(child for parent in self.parents for child in parent.children)
        return [other for other in shared if other is not self]

    @property
    def ancestors(self) -> Iterator[_Person]:
        for parent in self.parents:
            yield parent
            yield from parent.ancestors


def _population(rng: random.Random, surnames: Sequence[str], size: int) -> list[_Person]:
    """Generation after generation from a few couples, until there are `size` persons."""
    registry = _Registry(rng, surnames)
    couples = [registry.couple() for _ in range(max(2, size // 15))]
    while len(registry.people) < size:
        children = [
            child
            for father, mother in couples
            for child in registry.births(father, mother, most=size - len(registry.people))
        ]
        couples = registry.couples(children)
    return registry.people


class _Registry:
    """Makes persons with names of their own."""

    def __init__(self, rng: random.Random, surnames: Sequence[str]) -> None:
        self.rng, self.surnames = rng, surnames
        self.people: list[_Person] = []
        self._names: set[str] = set()

    def person(self, *, is_woman: bool, surname: str | None = None) -> _Person:
        """A new person; without a surname given, one from outside, who has no parents here."""
        name = ""
        while not name or name in self._names:
            first = self.rng.choice(_WOMEN if is_woman else _MEN)
            name = f"{first} {surname or self.rng.choice(self.surnames)}"
        self._names.add(name)
        self.people.append(_Person(name, is_woman, birthday=self.rng.randrange(365)))
        return self.people[-1]

    def couple(self, one: _Person | None = None, other: _Person | None = None) -> tuple[_Person, _Person]:
        """(man, woman), married or not; a partner who is not given comes from outside."""
        one = one or self.person(is_woman=False)
        other = other or self.person(is_woman=not one.is_woman)
        if self.rng.random() < _MARRIED_SHARE:
            one.spouses.append(other)
            other.spouses.append(one)
        return (other, one) if one.is_woman else (one, other)

    def births(self, father: _Person, mother: _Person, *, most: int) -> list[_Person]:
        """The children of a couple; only twins share a birthday with a brother or sister."""
        born: list[_Person] = []
        for _ in range(min(self.rng.choice(_CHILDREN), most)):
            child = self.person(is_woman=self.rng.random() < 0.5, surname=father.name.split()[-1])
            child.parents = (father, mother)
            taken = {other.birthday for other in child.siblings}
            if born and self.rng.random() < _TWIN_SHARE:
                child.birthday = born[-1].birthday
            else:
                child.birthday = self.rng.choice([day for day in range(365) if day not in taken])
            for parent in child.parents:
                parent.children.append(child)
            born.append(child)
        return born

    def couples(self, generation: Iterable[_Person]) -> list[tuple[_Person, _Person]]:
        """The couples of a generation: most find a partner who is no relative or comes from outside, some twice."""
        willing = [person for person in generation if self.rng.random() < _COUPLED_SHARE]
        again = [person for person in willing if self.rng.random() < _AGAIN_SHARE]
        return [couple for group in (willing, again) for couple in self._paired(group)]

    def _paired(self, group: list[_Person]) -> Iterator[tuple[_Person, _Person]]:
        waiting = self.rng.sample(group, len(group))
        while waiting:
            person = waiting.pop()
            other = next((other for other in waiting if _may_have_children(person, other)), None)
            if other is not None:
                waiting.remove(other)
            yield self.couple(person, other)


def _may_have_children(one: _Person, other: _Person) -> bool:
    return (
        one.is_woman != other.is_woman
        and other not in one.spouses
        and not set(one.ancestors) & set(other.ancestors)
    )


# --- what is known of them ---------------------------------------------------------------------------------


def _triples(rng: random.Random, people: list[_Person]) -> list[Triple]:
    """The records that are not missing, and all that follows from them."""
    by_birthday: defaultdict[int, list[_Person]] = defaultdict(list)
    for person in people:
        by_birthday[person.birthday].append(person)
    records = (
        (person.name, relation, other.name)
        for person in people
        for relation, other in _page(person, by_birthday[person.birthday])
        if rng.random() < (_KNOWN_SISTERS if relation == "sister" else _KNOWN_SHARE)
    )
    return sorted(_with_what_follows(records))


def _page(person: _Person, born_that_day: Iterable[_Person]) -> Iterator[tuple[str, _Person]]:
    """(relation, other): what `other` is to `person`, for the relations that no rule derives."""
    groups = (
        (person.parents, "mother", "father"),
        (person.children, "daughter", "son"),
        (person.spouses, "wife", "husband"),
        (person.siblings, "sister", "brother"),
    )
    for others, woman, man in groups:
        yield from ((woman if other.is_woman else man, other) for other in others)
    yield from (("sharesBirthday", other) for other in born_that_day if other is not person)


def _with_what_follows(records: Iterable[Triple]) -> set[Triple]:
    """The records and all that follows from them: each rule in turn, until none adds anything."""
    pairs: defaultdict[str, Pairs] = defaultdict(set)
    for head, relation, tail in records:
        pairs[relation].add((head, tail))
    before = -1
    while before != (before := sum(map(len, pairs.values()))):
        for rule in RULES:
            bodies = [pairs[name] for name in rule.body]
            meets = isinstance(rule, IntersectionRule)
            follows: Pairs = bodies[0].intersection(*bodies) if meets else reduce(_joined, bodies)
            pairs[rule.head] |= follows
    return {(head, relation, tail) for relation, group in pairs.items() for head, tail in group}


def _joined(first: Pairs, second: Pairs) -> Pairs:
    onward: defaultdict[str, list[str]] = defaultdict(list)
    for middle, end in second:
        onward[middle].append(end)
    return {(start, end) for start, middle in first for end in onward.get(middle, ())}


def _held_out(rng: random.Random, triples: list[Triple]) -> dict[str, list[Triple]]:
    """A share of every derived relation goes to validation and as much to the queries."""
    splits: dict[str, list[Triple]] = {"facts": [], "valid": [], "queries": []}
    by_relation: defaultdict[str, list[Triple]] = defaultdict(list)
    for triple in triples:
        by_relation[triple[1]].append(triple)
    for relation, group in sorted(by_relation.items()):
        count = round(_HELD_OUT_SHARE * len(group)) if relation in RULES.by_head else 0
        rng.shuffle(group)
        splits["valid"] += group[:count]
        splits["queries"] += group[count : 2 * count]
        splits["facts"] += group[2 * count :]
    return splits
