"""Datalog as Soufflé reads it (`.dl`): declarations, inputs and outputs, and one clause per rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.rules.formats.datalog import clauses, declared, identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import RuleBase

_KEYWORDS = {
    "as", "autoinc", "band", "bnot", "bor", "brie", "bshl", "bshr", "bshru", "btree", "btree_delete",
    "bxor", "cat", "contains", "count", "eqrel", "false", "float", "functor", "inline", "input", "land",
    "lnot", "lor", "lxor", "magic", "match", "max", "mean", "min", "nil", "no_inline", "no_magic",
    "number", "ord", "output", "overridable", "override", "printsize", "range",
    "recursive_iteration_cnt", "stateful", "strlen", "substr", "sum", "symbol", "to_float", "to_number",
    "to_string", "to_unsigned", "true", "unsigned",
}  # fmt: skip


def lines(base: RuleBase) -> Iterator[str]:
    """Every relation reads NAME.facts, since any relation may have facts; derived ones are written out."""
    for relation, is_derived in declared(base).items():
        name = written(relation)
        yield f".decl {name}(x: symbol, y: symbol)" + ("" if name == relation else f"  // {_shown(relation)}")
        yield f".input {name}"
        if is_derived:
            yield f".output {name}"
    yield from clauses(base, written)


def written(relation: str) -> str:
    """A relation as a Soufflé identifier; `datalog.name_of` is the way back."""
    return identifier(relation, reserved=_KEYWORDS)


def _shown(relation: str) -> str:
    return repr(relation)[1:-1]  # a comment must not end at a line break inside a name
