"""Whether answers are exact, and in which words that is said: nothing else in the library calls answers exact.

An engine brings the way in which it answers, rules and facts bring what was not read, and both make one `Exactness`.

>>> print(Exactness(GEOMETRY))
exact
>>> from reshuffle.rules.rule import Unread
>>> print(Exactness(GEOMETRY, (Unread("owl:hasKey axioms", 8, "a.ttl: ...", "axiom"),)))
from what was read; 8 axioms were not read
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reshuffle.rules.class_axioms import SAME_AS
from reshuffle.rules.formats.ontology import shortened
from reshuffle.rules.formats.owl import AXIOM_RELATIONS
from reshuffle.rules.ontologies.schema import RELATIONS
from reshuffle.rules.rule import NOT_READ
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.rules.rule import RuleBase, Unread


@dataclass(frozen=True)
class Way:
    """How an engine answers, in words."""

    of_all: str
    """Where all rules and axioms were read."""
    of_some: str
    """Where some were not."""
    is_exact: bool = True
    """Is each answer right, and none missing, with respect to what was read?"""


GEOMETRY = Way("exact", "from what was read")


def within(bound: int | None) -> Way:
    """Geometry for what follows in at most `bound` steps, or in any number."""
    if bound is None:
        return GEOMETRY
    steps = counted(bound, "step")
    return Way(f"exact within {steps}", f"within {steps} from what was read", is_exact=False)


def by_chase(reason: str | None = None) -> Way:
    """The fixpoint of the chase; `reason` is why there is no geometry, where nobody asked for the chase."""
    how = "by the chase (no geometry)" if reason is None else f"by the chase ({reason})"
    return Way(f"the exact fixpoint, {how}", f"from what was read, {how}")


def sketched(how: str) -> Way:
    """A sketch, which says yes too often."""
    return Way(how, f"{how}, from what was read", is_exact=False)


@dataclass(frozen=True)
class Exactness:
    """What answers are: how they were found, and what was not read."""

    way: Way
    not_read: tuple[Unread, ...] = ()
    of_ontology: bool = False
    """Were axioms read? They derive links and types of entities, and nothing between classes or properties."""
    silent_about: str = ""
    """A relation between classes or properties that is asked about, and that rules derive nothing about."""
    closure_of: str = ""
    """One of which rules derive the closure alone; more may follow: a class without members is below all others."""

    @classmethod
    def of(cls, way: Way, rules: RuleBase | None, beside: Sequence[Unread] = ()) -> Exactness:
        """What answers to rules are; `beside` is what was not read elsewhere."""
        if rules is None:
            return cls(way, tuple(beside))
        return cls(way, (*rules.not_read, *beside), of_ontology=rules.stated is not None)

    @property
    def everything_read(self) -> bool:
        """Were all rules and axioms read, and are they about what was asked?"""
        return not (self.not_read or self.silent_about or self.closure_of)

    def __bool__(self) -> bool:
        """Are the answers exact?"""
        return self.way.is_exact and self.everything_read

    def __str__(self) -> str:
        if self.everything_read:
            return self.way.of_all
        missing = [told_unread(self.not_read)] if self.not_read else []
        if self.silent_about:
            missing.append(f"nothing is derived about {self.silent_about}")
        if self.closure_of:
            missing.append(f"only the closure of {self.closure_of} is derived")
        return "; ".join([self.way.of_some, *missing])

    @property
    def does_not_follow(self) -> str:
        """What is said of a triple that does not follow."""
        return f"does not follow ({self})" if self.everything_read else f"does not follow {self}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the words, and what was not read."""
        return {"exactness": str(self), "not_read": listed(self.not_read)}

    def about(self, relation: str) -> Exactness:
        """The same of one relation."""
        if not self.of_ontology or relation not in AXIOM_RELATIONS - {SAME_AS}:
            return self
        if relation in RELATIONS:
            return replace(self, closure_of=shortened(relation))
        return replace(self, silent_about=shortened(relation))


def told_unread(unread: Sequence[Unread]) -> str:
    """How much was not read or not used, by what it is."""
    by_lack: dict[str, dict[str, int]] = {}
    for one in unread:
        by_noun = by_lack.setdefault(one.lack, {})
        by_noun[one.noun] = by_noun.get(one.noun, 0) + one.count
    return " and ".join(_told_lack(lack, by_noun) for lack, by_noun in by_lack.items())


def _told_lack(lack: str, by_noun: dict[str, int]) -> str:
    counts = [counted(count, noun) for noun, count in by_noun.items()]
    was = "was" if sum(by_noun.values()) == 1 else "were"
    return f"{' and '.join(counts)} {was} {lack}"


def listed(unread: Sequence[Unread]) -> list[dict[str, Any]]:
    """Plain data for JSON; what was read, but not used, says so under `lack`."""
    return [
        {"what": one.what, "count": one.count, "first": one.first}
        | ({"lack": one.lack} if one.lack != NOT_READ else {})
        for one in unread
    ]
