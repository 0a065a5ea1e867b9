"""Embedded demo data: two populations of families, and the rules that hold among them.

A triple (Ada, father, Otto) says that Ada's father is Otto. Parents, marriages, brothers and sisters are
given; everything else follows by `RULES`, so it is known which rules a learner should find. Our rules have
no "different from": `parent^-1;parent -> sibling` would make everyone their own sibling. So `brother` and
`sister` are given, between different persons, and nobody marries a relative or twice. With that the rules
below are true without exception.

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
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.benchmarks import DataCard, GraphCard, InductiveBenchmark
from reshuffle.rules.base import RuleBase
from reshuffle.rules.rule import IntersectionRule, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.kg.benchmarks import GraphSplit

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
_CHILDREN = (0, 1, 2, 2, 3, 3, 4)  # drawn evenly: 2.1 per couple
_TWIN_SHARE = 0.15  # of births
_MARRIED_SHARE = 0.85
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


def families(seed: int = 0, *, size: int = 150) -> Families:
    """Two populations of about `size` persons each, without a name in common."""
    if not _SMALLEST <= size <= _LARGEST:
        raise InputError(
            f"size={size}: a population has {_SMALLEST} to {_LARGEST:,} persons",
            hint="there are not more names than that; for more data generate several with other seeds",
        )
    rng = random.Random(seed)
    surnames = rng.sample(_SURNAMES, len(_SURNAMES))
    half = len(surnames) // 2
    train = _held_out(rng, _triples(_population(rng, surnames[:half], size)))
    test = _held_out(rng, _triples(_population(rng, surnames[half:], size)))
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
            "Every held-out triple follows from the facts by the rules of reshuffle.rules.families.RULES.",
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
    birth: int = 0  # twins share it
    spouse: _Person | None = None
    children: list[_Person] = field(default_factory=list)

    @property
    def siblings(self) -> Iterator[_Person]:
        return (other for other in (self.parents[0].children if self.parents else ()) if other is not self)

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
        couples = registry.marriages(children)
    return registry.people


class _Registry:
    """Makes persons with names of their own."""

    def __init__(self, rng: random.Random, surnames: Sequence[str]) -> None:
        self.rng, self.surnames = rng, surnames
        self.people: list[_Person] = []
        self._names: set[str] = set()
        self._births = 0

    def person(self, *, is_woman: bool, surname: str | None = None) -> _Person:
        """Someone new; from outside, without parents, unless a surname is given."""
        name = ""
        while not name or name in self._names:
            first = self.rng.choice(_WOMEN if is_woman else _MEN)
            name = f"{first} {surname or self.rng.choice(self.surnames)}"
        self._names.add(name)
        self.people.append(_Person(name, is_woman, birthday=self.rng.randrange(365)))
        return self.people[-1]

    def couple(self) -> tuple[_Person, _Person]:
        return _married(self.person(is_woman=False), self.person(is_woman=True))

    def births(self, father: _Person, mother: _Person, *, most: int) -> list[_Person]:
        """The children of a couple; only twins share a birthday with a brother or sister."""
        surname = father.name.split()[-1]
        for _ in range(min(self.rng.choice(_CHILDREN), most)):
            child = self.person(is_woman=self.rng.random() < 0.5, surname=surname)
            child.parents = (father, mother)
            elder = father.children[-1:]
            if elder and self.rng.random() < _TWIN_SHARE:
                child.birth, child.birthday = elder[0].birth, elder[0].birthday
            else:
                self._births += 1
                child.birth = self._births
                while any(child.birthday == other.birthday for other in father.children):
                    child.birthday = self.rng.randrange(365)
            father.children.append(child)
            mother.children.append(child)
        return father.children

    def marriages(self, generation: Iterable[_Person]) -> list[tuple[_Person, _Person]]:
        """Most marry: someone of their generation who is no relative, or else someone from outside."""
        willing = [person for person in generation if self.rng.random() < _MARRIED_SHARE]
        self.rng.shuffle(willing)
        couples = []
        for person in willing:
            if person.spouse is None:
                other = next((p for p in willing if _may_marry(person, p)), None)
                other = other or self.person(is_woman=not person.is_woman)
                couples.append(_married(person, other))
        return couples


def _may_marry(one: _Person, other: _Person) -> bool:
    return (
        one.is_woman != other.is_woman
        and other.spouse is None
        and not set(one.ancestors) & set(other.ancestors)
    )


def _married(one: _Person, other: _Person) -> tuple[_Person, _Person]:
    """(husband, wife)"""
    one.spouse, other.spouse = other, one
    return (other, one) if one.is_woman else (one, other)


# --- what is true of them ----------------------------------------------------------------------------------


def _triples(people: list[_Person]) -> list[Triple]:
    """Every true triple, by the definitions of the relations rather than by the rules."""
    found = {(person.name, relation, other.name) for person in people for relation, other in _kin(person)}
    by_birthday: defaultdict[int, list[_Person]] = defaultdict(list)
    for person in people:
        by_birthday[person.birthday].append(person)
    for group in by_birthday.values():
        found |= {(a.name, "sharesBirthday", b.name) for a in group for b in group if a is not b}
    return sorted(found)


def _kin(person: _Person) -> Iterator[tuple[str, _Person]]:
    """(relation, other): what `other` is to `person`."""
    for parent in person.parents:
        yield from _both(parent, "parent", "mother", "father")
        for grandparent in parent.parents:
            yield from _both(grandparent, "grandparent", "grandmother", "grandfather")
        for sibling in parent.siblings:
            yield ("aunt" if sibling.is_woman else "uncle"), sibling
            yield from (("cousin", cousin) for cousin in sibling.children)
    for child in person.children:
        yield from _both(child, "child", "daughter", "son")
        if child.spouse is not None:
            yield ("daughter-in-law" if child.spouse.is_woman else "son-in-law"), child.spouse
    for sibling in person.siblings:
        yield from _kin_by_sibling(person, sibling)
    yield from _kin_by_marriage(person)
    yield from (("ancestor", ancestor) for ancestor in person.ancestors)


def _kin_by_sibling(person: _Person, sibling: _Person) -> Iterator[tuple[str, _Person]]:
    yield from _both(sibling, "sibling", "sister", "brother")
    if sibling.birth == person.birth:
        yield "twin", sibling
    if sibling.spouse is not None:
        yield ("sister-in-law" if sibling.spouse.is_woman else "brother-in-law"), sibling.spouse
    for child in sibling.children:
        yield ("niece" if child.is_woman else "nephew"), child


def _kin_by_marriage(person: _Person) -> Iterator[tuple[str, _Person]]:
    spouse = person.spouse
    if spouse is not None:
        yield from _both(spouse, "spouse", "wife", "husband")
        for parent in spouse.parents:
            yield ("mother-in-law" if parent.is_woman else "father-in-law"), parent
        for sibling in spouse.siblings:
            yield ("sister-in-law" if sibling.is_woman else "brother-in-law"), sibling


def _both(other: _Person, either: str, woman: str, man: str) -> Iterator[tuple[str, _Person]]:
    yield either, other
    yield (woman if other.is_woman else man), other


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
