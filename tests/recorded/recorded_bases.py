"""Random small rule bases with facts and questions, from nothing but a seed."""

from __future__ import annotations

import random
from typing import Any

_NAMES = [f"r{n}" for n in range(6)]
_ENTITIES = [f"e{n}" for n in range(9)]


def random_base(number: int) -> dict[str, Any]:
    """Rules as a text, facts, and more facts to add."""
    dice = random.Random(number)
    make = (_acyclic, _left, _right, _meeting, _any, _backwards, _any)[number % 7]
    rules = [make(dice) for _ in range(dice.randint(4, 8))]
    if number % 5 == 0:
        rules.append(f"{_atom('r0', 'X', 'Y')} & {_atom('r5', 'X', 'Y')} -> false")
    facts = sorted({_triple(dice) for _ in range(dice.randint(18, 30))})
    more = sorted({_triple(dice) for _ in range(4)})
    return {
        "rules": "\n".join(rules),
        "facts": [list(fact) for fact in facts],
        "more": [list(fact) for fact in more],
    }


def random_questions(
    number: int, facts: list[list[str]], follows: list[tuple[str, str, str]], *, most: int
) -> list[list[str]]:
    """Mostly of what follows; some facts, some that may not follow, and one with a name that is not there."""
    dice = random.Random(f"questions {number}")
    asked = [list(triple) for triple in dice.sample(follows, min(len(follows), most * 3 // 5))]
    asked += [list(fact) for fact in dice.sample(facts, 2)]
    asked.append(["e0", "r9", "e1"] if number % 2 else ["e0", "r0", "nobody"])
    return asked + [list(_triple(dice, headed=True)) for _ in range(most - len(asked))]


def _triple(dice: random.Random, *, headed: bool = False) -> tuple[str, str, str]:
    # Facts are mostly of the first relations, and questions mostly of the last, which rules derive.
    names = _NAMES[2:] if headed else _NAMES[:4] * 3 + _NAMES[4:]
    return dice.choice(_ENTITIES), dice.choice(names), dice.choice(_ENTITIES)


def _atom(relation: str, first: str, second: str) -> str:
    return f"{relation}({first}, {second})"


def _path(body: list[str], head: str) -> str:
    variables = ["X", *(f"Y{n}" for n in range(len(body) - 1)), "Z"]
    atoms = [_atom(name, *variables[n : n + 2]) for n, name in enumerate(body)]
    return f"{' & '.join(atoms)} -> {_atom(head, 'X', 'Z')}"


def _acyclic(dice: random.Random) -> str:
    head = dice.randint(2, 5)
    return _path([f"r{dice.randrange(head)}" for _ in range(dice.randint(1, 3))], f"r{head}")


def _left(dice: random.Random) -> str:
    head = dice.randint(2, 5)
    rest = [f"r{dice.randrange(2)}" for _ in range(dice.randint(0, 2))]
    return _path([f"r{dice.randint(2, 5)}" if rest else f"r{dice.randrange(head)}", *rest], f"r{head}")


def _right(dice: random.Random) -> str:
    head = dice.randint(2, 5)
    rest = [f"r{dice.randrange(2)}" for _ in range(dice.randint(0, 2))]
    return _path([*rest, f"r{dice.randint(2, 5)}" if rest else f"r{dice.randrange(head)}"], f"r{head}")


def _meeting(dice: random.Random) -> str:
    if dice.random() < 0.4:
        return _path([dice.choice(_NAMES[:4])], dice.choice(_NAMES[2:]))
    head = dice.randint(2, 5)
    first, second = (dice.choice([name for name in _NAMES if name != f"r{head}"]) for _ in range(2))
    second = second if second != first else _NAMES[0 if head and first != "r0" else 1]
    return f"{_atom(first, 'X', 'Y')} & {_atom(second, 'X', 'Y')} -> {_atom(f'r{head}', 'X', 'Y')}"


def _any(dice: random.Random) -> str:
    if dice.random() < 0.2:
        return _meeting(dice)
    return _path([dice.choice(_NAMES) for _ in range(dice.randint(1, 3))], dice.choice(_NAMES[2:]))


def _backwards(dice: random.Random) -> str:
    """Acyclic, with atoms that run backwards."""
    head = dice.randint(2, 5)
    body = [f"r{dice.randrange(head)}" for _ in range(dice.randint(1, 3))]
    return _path([name + "^-1" if dice.random() < 0.4 else name for name in body], f"r{head}")
