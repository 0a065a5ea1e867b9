"""What kind of rule the atoms of a statement form: a closed path, an intersection, or a disjointness.

The one definition of the rule class. A body is a path when its atoms, in any order and direction, lead from
the head's first variable to its second through variables that occur nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from reshuffle.kg import inverse_name
from reshuffle.kg.inverses import is_inverse
from reshuffle.rules.formats.statement import SKIP_HINT
from reshuffle.rules.rule import VARIABLE, Disjointness, IntersectionRule, PathRule

if TYPE_CHECKING:
    from reshuffle.rules.formats.statement import Atom, Statement
    from reshuffle.rules.rule import Rule

NOT_A_PATH = "rules that are not closed paths"
WITH_CONSTANTS = "rules with constants"
REPEATING = "rules with the same variable twice in an atom"
WIDE_CONSTRAINT = "constraints that are not two atoms over the same variables"


def meaning(statement: Statement) -> Rule | Disjointness:
    """The rule that a statement writes, or an error that points at the first atom which does not fit.

    The head of the result is never an inverse relation: such a rule is read from its second variable.
    """
    for atom in statement.body if statement.head is None else (*statement.body, statement.head):
        _check_arguments(statement, atom)
    if statement.head is None:
        return _disjointness(statement)
    _check_head_variables(statement, statement.head)
    rule = _intersection(statement, statement.head) or _path(statement, statement.head)
    return rule.reversed() if is_inverse(rule.head) else rule


def is_variable(argument: str) -> bool:
    """Is the argument one upper-case letter with optional digits, or `?name`?

    >>> is_variable("X"), is_variable("Z12"), is_variable("?who"), is_variable("London")
    (True, True, True, False)
    """
    return VARIABLE.match(argument) is not None


def _check_arguments(statement: Statement, atom: Atom) -> None:
    for argument, at in ((atom.start, atom.start_at), (atom.end, atom.end_at)):
        if not is_variable(argument):
            raise statement.line.outside_class(
                f"constant {argument} in an atom: arguments are variables,"
                " one upper-case letter with optional digits or ?name",
                at=at,
                kind=WITH_CONSTANTS,
                hint=f"rules with constants, as AnyBURL mines them, are outside the class; {SKIP_HINT}",
            )
    if atom.start == atom.end:
        raise statement.line.outside_class(
            f"{atom.start} occurs twice in one atom: the two arguments must differ",
            at=atom.end_at,
            kind=REPEATING,
            hint=f"a loop on one entity is not a path between two; {SKIP_HINT}",
        )


def _disjointness(statement: Statement) -> Disjointness:
    first, *others = statement.body
    if len(others) != 1 or {first.start, first.end} != {others[0].start, others[0].end}:
        raise statement.line.outside_class(
            "not a disjointness: '-> false' takes two atoms over the same two variables",
            at=others[-1].at if others else first.at,
            kind=WIDE_CONSTRAINT,
            hint="write r1(X, Y) & r2(X, Y) -> false",
        )
    pair = first.relation, _leading_from(first.start, others[0])
    if is_inverse(first.relation):
        pair = inverse_name(pair[0]), inverse_name(pair[1])
    return Disjointness(*pair)


def _leading_from(variable: str, atom: Atom) -> str:
    """The relation that leads from `variable` to the other argument: the inverse where the atom runs backwards."""
    return atom.relation if atom.start == variable else inverse_name(atom.relation)


def _check_head_variables(statement: Statement, head: Atom) -> None:
    inside = {variable for atom in statement.body for variable in (atom.start, atom.end)}
    for variable, at in ((head.start, head.start_at), (head.end, head.end_at)):
        if variable not in inside:
            raise statement.line.outside_class(
                f"head variable {variable} does not occur in the body",
                at=at,
                kind=NOT_A_PATH,
                hint=f"the body must lead from {head.start} to {head.end}",
            )


def _intersection(statement: Statement, head: Atom) -> Rule | None:
    ends = {head.start, head.end}
    if any({atom.start, atom.end} != ends for atom in statement.body):
        return None
    conditions = tuple(dict.fromkeys(_leading_from(head.start, atom) for atom in statement.body))
    if len(conditions) == 1:  # the same atom twice says it once
        return PathRule(conditions, head.relation, statement.quality)
    return IntersectionRule(conditions, head.relation, statement.quality)


def _path(statement: Statement, head: Atom) -> PathRule:
    """Walk from the head's first variable; a closed path leaves no choice at any step."""
    left = list(statement.body)
    here, visited, word = head.start, {head.start}, []
    while here != head.end:
        step = next((atom for atom in left if here in (atom.start, atom.end)), None)
        if step is None:
            _stuck(statement, head, here, left)
        left.remove(step)
        word.append(_leading_from(here, step))
        here = step.end if here == step.start else step.start
        if here in visited:
            _turned_back(statement, head, step, here)
        visited.add(here)
    if left:
        _left_over(statement, head, left[0], visited)
    return PathRule(tuple(word), head.relation, statement.quality)


def _stuck(statement: Statement, head: Atom, here: str, left: list[Atom]) -> NoReturn:
    """No atom goes on from `here`; blame the first unused one, at the argument that is not the path's end."""
    atom = left[0]
    found, at = (atom.start, atom.start_at) if atom.start != head.end else (atom.end, atom.end_at)
    used = [other for other in statement.body if other not in left]
    known = {head.start, *(variable for other in used for variable in (other.start, other.end))}
    apart = not known & {variable for other in left for variable in (other.start, other.end)}
    problem = "disconnected body" if apart else "not a closed path"
    raise statement.line.outside_class(
        f"{problem}: expected {here} here, found {found}", at=at, kind=NOT_A_PATH, hint=_path_hint(head)
    )


def _turned_back(statement: Statement, head: Atom, atom: Atom, here: str) -> NoReturn:
    raise statement.line.outside_class(
        f"not a closed path: the path comes back to {here} here",
        at=atom.end_at if atom.end == here else atom.start_at,
        kind=NOT_A_PATH,
        hint=_path_hint(head),
    )


def _left_over(statement: Statement, head: Atom, atom: Atom, visited: set[str]) -> NoReturn:
    ends = f"{head.start} to {head.end}"
    if visited.isdisjoint((atom.start, atom.end)):
        message = f"disconnected body: this atom shares no variable with the path from {ends}"
    else:
        message = f"not a closed path: the path from {ends} is complete without this atom"
    raise statement.line.outside_class(message, at=atom.at, kind=NOT_A_PATH, hint=_path_hint(head))


def _path_hint(head: Atom) -> str:
    return f"the body must lead from {head.start} to {head.end}, each atom starting where another ends"
