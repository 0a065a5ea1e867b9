"""Rules as rows of tables, and the one statement that applies all of them once, on any database.

`chain(first, second, head)`, `copied(body, head)` and `meet(rule, code, size, head)` hold the chase's program, in its
codes: twice the relation, plus one where an atom runs backwards. `held` is all that holds, `delta` what the last
round added. A round joins
what is new with what holds, in either place of a chain, and drops what is known. So the number of statements is the
number of rounds, for any number of rules. The statement is plain SQL: DuckDB and Spark run the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.reasoning.scaling.machine_tables import table

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from reshuffle.reasoning.chase.program import CodedRule

_WALKED = (
    "SELECT 2 * relation AS code, head, tail FROM {0} UNION ALL "
    "SELECT 2 * relation + 1 AS code, tail AS head, head AS tail FROM {0}"
)
_CHAINS = """
SELECT chain.head AS code, new.head AS head, old.tail AS tail FROM walked_delta new
JOIN chain ON chain.first = new.code JOIN walked_held old ON old.code = chain.second AND old.head = new.tail
UNION ALL
SELECT chain.head AS code, old.head AS head, new.tail AS tail FROM walked_delta new
JOIN chain ON chain.second = new.code JOIN walked_held old ON old.code = chain.first AND old.tail = new.head
"""
_COPIES = """
SELECT copied.head AS code, new.head AS head, new.tail AS tail FROM walked_delta new
JOIN copied ON copied.body = new.code
"""
_MEETS = """
SELECT meet.head AS code, touched.head AS head, touched.tail AS tail FROM (
  SELECT DISTINCT meet.rule AS rule, new.head AS head, new.tail AS tail FROM walked_delta new
  JOIN meet ON meet.code = new.code
) touched JOIN meet ON meet.rule = touched.rule JOIN walked_held old
ON old.code = meet.code AND old.head = touched.head AND old.tail = touched.tail
GROUP BY meet.rule, meet.head, meet.size, touched.head, touched.tail HAVING count(*) = meet.size
"""
_ROUND = """
WITH walked_held AS ({held}), walked_delta AS ({delta}), found AS ({parts}), forwards AS (
  SELECT DISTINCT CAST((code - code % 2) / 2 AS INTEGER) AS relation,
  CASE WHEN code % 2 = 0 THEN head ELSE tail END AS head,
  CASE WHEN code % 2 = 0 THEN tail ELSE head END AS tail FROM found
)
SELECT forwards.relation, forwards.head, forwards.tail FROM forwards WHERE NOT EXISTS (
  SELECT 1 FROM held WHERE held.relation = forwards.relation AND held.head = forwards.head
  AND held.tail = forwards.tail
)
"""


@dataclass(frozen=True)
class RuleTables:
    """The tables of a program.

    `walked` is the number of relations where the rules are automata: facts then hold twice, as themselves and as what
    automata walk, and a relation more leads from each entity to itself.
    """

    chain: pa.Table
    copied: pa.Table
    meet: pa.Table
    walked: int | None = None

    @property
    def by_name(self) -> dict[str, pa.Table]:
        """The tables that the statement of a round reads besides held and delta."""
        return {"chain": self.chain, "copied": self.copied, "meet": self.meet}

    def start_query(self) -> str:
        """What holds at the start, from the tables fact and entity."""
        facts = "SELECT relation, head, tail FROM fact"
        if self.walked is None:
            return facts
        again = f"SELECT relation + {self.walked} AS relation, head, tail FROM fact"
        identity = f"SELECT {2 * self.walked} AS relation, id AS head, id AS tail FROM entity"
        return f"{facts} UNION ALL {again} UNION ALL {identity}"

    def round_query(self) -> str | None:
        """What the rules derive from delta and held that is not in held; None where there are no rules."""
        rows = ((self.chain, _CHAINS), (self.copied, _COPIES), (self.meet, _MEETS))
        parts = [part for rules, part in rows if rules.num_rows]
        if not parts:
            return None
        return _ROUND.format(
            held=_WALKED.format("held"), delta=_WALKED.format("delta"), parts=" UNION ALL ".join(parts)
        )


def rule_tables(rules: Iterable[CodedRule], *, walked: int | None = None) -> RuleTables:
    """The tables of coded rules."""
    chains, copies, meets = [], [], []
    for number, rule in enumerate(rules):
        if rule.kind == "chain":
            chains.append((*rule.body, rule.head))
        elif rule.kind == "copy":
            # Walked either way: one row serves both, since the head is turned at the end.
            copies.append((rule.body[0], rule.head))
        else:
            atoms = dict.fromkeys(rule.body)
            meets += [(number, atom, len(atoms), rule.head) for atom in atoms]
    return RuleTables(
        table(("first", "second", "head"), sorted(set(chains))),
        table(("body", "head"), sorted(set(copies))),
        table(("rule", "code", "size", "head"), meets),
        walked,
    )
