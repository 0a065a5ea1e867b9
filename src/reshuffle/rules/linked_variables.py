"""How the variables of a rule with constants hang together, and which rules of that kind are outside the class."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.kg import inverse_name
from reshuffle.rules.digraphs import reachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import ConstantRule, Term

BRANCHING = "rules with bodies that branch"
UNSAFE = "rules with a variable in the head alone"
BETWEEN = "rules with conditions on a path between two variables"


class Links:
    """The atoms of a rule from variable to variable and to constants.

    A constant of a conclusion without variables, and one that two constants of an atom link, is taken for a variable
    that is the `same_as` that entity.
    """

    def __init__(self, rule: ConstantRule) -> None:
        self._links: dict[int, dict[Term, dict[str, None]]] = {}
        self.same_as: dict[int, str] = {}
        self._fresh = rule.num_variables
        for relation, start, end in rule.atoms:
            one = self._variable(start) if isinstance(start, str) and isinstance(end, str) else start
            if isinstance(one, int):
                self._link(one, relation, end)
            if isinstance(end, int):
                self._link(end, inverse_name(relation), one)
        _, start, end = rule.conclusion
        if isinstance(start, int):
            self.asked: tuple[int, Term] = start, end
        elif isinstance(end, int):
            self.asked = end, start
        else:
            self.asked = self._variable(start), end

    def _variable(self, constant: str) -> int:
        number, self._fresh = self._fresh, self._fresh + 1
        self.same_as[number] = constant
        self._links.setdefault(number, {})
        return number

    def _link(self, variable: int, relation: str, other: Term) -> None:
        self._links.setdefault(variable, {}).setdefault(other, {})[relation] = None

    def of(self, variable: int) -> Iterator[tuple[Term, tuple[str, ...]]]:
        """What a variable is linked to, each with the relations that lead there."""
        for other, relations in self._links.get(variable, {}).items():
            yield other, tuple(sorted(relations))

    def neighbours(self, variable: int) -> list[int]:
        """The variables that a variable is linked to."""
        return [other for other, _ in self.of(variable) if isinstance(other, int)]

    @cached_property
    def groups(self) -> list[list[int]]:
        """The variables of the body that hang together."""
        found: list[list[int]] = []
        calls = {variable: self.neighbours(variable) for variable in self._links}
        for variable in self._links:
            if not any(variable in group for group in found):
                found.append(sorted(reachable([variable], calls)))
        return found

    @property
    def roots_apart(self) -> list[int]:
        """A variable of each group that the conclusion does not speak of."""
        return [self._end_of(group) for group in self.groups if not set(group) & {*self.asked}]

    def _end_of(self, group: list[int]) -> int:
        return min(group, key=lambda variable: (len(self.neighbours(variable)), variable))

    @property
    def is_tree(self) -> bool:
        """Do the variables form trees, each with at most one variable of the conclusion? Such rules are encoded."""
        variables = {end for end in self.asked if isinstance(end, int)}
        return all(
            sum(len(self.neighbours(variable)) for variable in group) // 2 < len(group)
            and len(variables & set(group)) < 2
            for group in self.groups
        )

    def why_outside(self) -> tuple[str, str] | None:
        """Why a rule is outside the class, and what such rules are called in the plural; None where it is inside."""
        variables = [end for end in self.asked if isinstance(end, int)]
        missing = [variable for variable in variables if variable not in self._links]
        if missing and (self._links or len(variables) == 2):
            return "a variable of the head does not occur in the body", UNSAFE
        for group in self.groups:
            pairs = sum(len(self.neighbours(variable)) for variable in group) // 2
            wide = any(len(self.neighbours(v)) > 2 for v in group if v not in variables)
            if pairs >= len(group) or wide:
                return "the body branches: atoms between variables must form paths", BRANCHING
            if len(set(variables) & set(group)) == 2:
                return "a path between two variables of the head has a condition with a constant", BETWEEN
        return None
