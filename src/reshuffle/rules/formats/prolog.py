"""Prolog (`.pl`): directives that make the program safe to run, and one clause per rule.

Derived relations are tabled, since plain Prolog would not return from a left-recursive rule. The clauses
without the directives are also an answer set program, which is how a test runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.rules.formats.datalog import clauses, declared, identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import RuleBase

# Predicates that ISO Prolog or its common dialects define for two arguments, and words of the syntax.
_BUILT_IN = {
    "atom_chars", "atom_codes", "atom_length", "call", "char_code", "char_conversion", "close",
    "copy_term", "current_char_conversion", "current_prolog_flag", "discontiguous", "dynamic", "fail",
    "false", "get_byte", "get_char", "get_code", "is", "keysort", "length", "msort", "not",
    "number_chars", "number_codes", "op", "peek_byte", "peek_char", "peek_code", "put_byte", "put_char",
    "put_code", "read", "read_term", "set_prolog_flag", "set_stream_position", "sort",
    "stream_property", "subsumes_term", "table", "throw", "true", "unify_with_occurs_check", "write",
    "write_canonical", "write_term", "writeq",
}  # fmt: skip


def lines(base: RuleBase) -> Iterator[str]:
    """Directives for every relation, then a clause for every rule."""
    for relation, is_derived in declared(base).items():
        name = written(relation)
        yield f":- discontiguous {name}/2." + ("" if name == relation else f"  % {relation!r}")
        yield f":- {'table' if is_derived else 'dynamic'} {name}/2."
    yield from clauses(base, written)


def written(relation: str) -> str:
    """A relation as a Prolog atom that needs no quotes; `datalog.name_of` is the way back."""
    return identifier(relation, reserved=_BUILT_IN)
