"""The completion of OWL 2 EL over numbers.

Facts are of two kinds: `a is_a b`, and links `a r b`. Both are stored in the order in which they are derived, with what
they were derived from, so that each has a proof by earlier ones. Two pointers run through them; a fact meets those of
the other kind that the other pointer has passed, so that each pair of facts meets once.

Arrays do not grow here: a kernel that runs out of room says so, and is called again with larger ones. It then takes the
same fact once more, which is harmless, because what is there is not derived again.

cost: one step per pair of facts that a rule joins
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]

TOP, BOTTOM, NONE = 0, 1, -1  # as in `normal_forms`
SUBS, SUBS_DONE, LINKS, LINKS_DONE = range(4)
DONE, MORE_SUBS, MORE_LINKS = range(3)
ITSELF, TOLD, MEET, LEFT, DOMAIN, TO_NOTHING, SOME, CHAIN, TO_ITSELF = range(9)
"""The kinds of steps. A rule is its kind, and KINDS times the axiom that it is from, counted from 1; 0 is none."""
KINDS = 16


A, B, ONE, OTHER, WHY, NEXT, NEXT_WANTED = range(7)
"""The rows of facts: its two classes, the facts it was derived from, the rule, and the next fact of the same class."""
NEXT_BACKWARD, RELATION = 6, 7
"""More rows of links, whose `NEXT` is the next link from the same class."""
LAST, LAST_WANTED, SIZE, LAST_FORWARD, LAST_BACKWARD = range(5)
"""The rows of classes: the latest fact and link of each, which `NEXT` leads on from, and how many facts it has."""
OF_TOLD, OF_SOME, OF_MEET, OF_LEFT = range(4)
"""The rows of `starts`: where the block of a class begins in the rules of each kind."""
FIRST, SECOND, RULE = range(3)
"""The rows of rules: two numbers, or one, and where it was written."""


class Rules(NamedTuple):
    """The rules by the class that they ask for, or by relation."""

    starts: Ints
    told: Ints  # sup, rule
    some: Ints  # relation, filler, rule
    meet: Ints  # other class, sorted in each block; sup, rule
    left: Ints  # by filler: column of `is_sub`, sup, rule
    loop: Ints  # by class, the relation that leads from it to itself, or -1
    domain_starts: Ints  # by relation
    domain: Ints  # sup, rule
    is_sub: NDArray[np.bool_]  # relation, column
    chain_places: Ints  # by relation: the row and the column in the table of chains, or -1
    chain_starts: Ints  # the number of columns, then by row * columns + column
    chain: Ints  # sup, rule


class Relations(NamedTuple):
    """The relations above each, itself among them, and which of them are shown."""

    starts: Ints
    above: Ints
    shown: Ints


class Facts(NamedTuple):
    """All that is derived, a column each, and tables of hashes."""

    subs: Ints
    links: Ints
    classes: Ints
    sub_table: Ints
    link_table: Ints
    counts: NDArray[np.int64]


@compiled(inline=True)
def _mixed(one: Any, other: Any) -> Any:
    mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    return mixed ^ (mixed >> np.uint64(29))


@compiled
def found_sub(facts: Facts, a: int, b: int) -> int:
    """The number of `a is_a b`, or -1 - the free place of the table."""
    mask = np.uint64(len(facts.sub_table) - 1)
    place = _mixed(a, b) & mask
    while True:
        number = facts.sub_table[np.int64(place)]
        if number < 0:
            return -1 - np.int64(place)  # type: ignore[return-value]
        if facts.subs[A, number] == a and facts.subs[B, number] == b:
            return number  # type: ignore[no-any-return]
        place = (place + np.uint64(1)) & mask


@compiled
def found_link(facts: Facts, a: int, relation: int, b: int) -> int:
    """The same of `a relation b`."""
    mask = np.uint64(len(facts.link_table) - 1)
    place = _mixed(_mixed(a, relation), b) & mask
    while True:
        number = facts.link_table[np.int64(place)]
        if number < 0:
            return -1 - np.int64(place)  # type: ignore[return-value]
        if (
            facts.links[A, number] == a
            and facts.links[B, number] == b
            and facts.links[RELATION, number] == relation
        ):
            return number  # type: ignore[no-any-return]
        place = (place + np.uint64(1)) & mask


@compiled
def _add_sub(rules: Rules, facts: Facts, a: int, b: int, one: int, other: int, rule: int) -> bool:
    """Derive `a is_a b`; False where there is no room."""
    place = found_sub(facts, a, b)
    if place >= 0:
        return True
    number = facts.counts[SUBS]
    if number >= facts.subs.shape[1] or 2 * number >= len(facts.sub_table):
        return False
    facts.sub_table[-1 - place] = number
    facts.subs[A, number], facts.subs[B, number] = a, b
    facts.subs[ONE, number], facts.subs[OTHER, number], facts.subs[WHY, number] = one, other, rule
    facts.subs[NEXT, number] = facts.classes[LAST, a]
    facts.classes[LAST, a] = number
    facts.classes[SIZE, a] += 1
    if b == BOTTOM or rules.starts[OF_LEFT, b] < rules.starts[OF_LEFT, b + 1]:
        facts.subs[NEXT_WANTED, number] = facts.classes[LAST_WANTED, a]
        facts.classes[LAST_WANTED, a] = number
    facts.counts[SUBS] = number + 1
    return True


@compiled
def _add_link(facts: Facts, a: int, relation: int, b: int, one: int, other: int, rule: int) -> bool:
    """Derive `a relation b`; False where there is no room."""
    place = found_link(facts, a, relation, b)
    if place >= 0:
        return True
    number = facts.counts[LINKS]
    if number >= facts.links.shape[1] or 2 * number >= len(facts.link_table):
        return False
    facts.link_table[-1 - place] = number
    facts.links[A, number], facts.links[RELATION, number], facts.links[B, number] = a, relation, b
    facts.links[ONE, number], facts.links[OTHER, number], facts.links[WHY, number] = one, other, rule
    facts.links[NEXT, number] = facts.classes[LAST_FORWARD, a]
    facts.classes[LAST_FORWARD, a] = number
    facts.links[NEXT_BACKWARD, number] = facts.classes[LAST_BACKWARD, b]
    facts.classes[LAST_BACKWARD, b] = number
    facts.counts[LINKS] = number + 1
    return True


@compiled
def _meet(rules: Rules, facts: Facts, k: int) -> bool:
    """Conjunctions of a new fact `a is_a b` with others of a."""
    a, b = facts.subs[A, k], facts.subs[B, k]
    start, end = rules.starts[OF_MEET, b], rules.starts[OF_MEET, b + 1]
    if end - start <= facts.classes[SIZE, a]:
        for at in range(start, end):
            other = found_sub(facts, a, rules.meet[FIRST, at])
            if other >= 0 and not _add_sub(
                rules, facts, a, rules.meet[SECOND, at], k, other, rules.meet[RULE, at]
            ):
                return False
        return True
    other = facts.classes[LAST, a]
    while other >= 0:
        at = start + np.searchsorted(rules.meet[FIRST, start:end], facts.subs[B, other])
        while at < end and rules.meet[FIRST, at] == facts.subs[B, other]:
            if not _add_sub(rules, facts, a, rules.meet[SECOND, at], k, other, rules.meet[RULE, at]):
                return False
            at += 1
        other = facts.subs[NEXT, other]
    return True


@compiled
def _over_link(rules: Rules, facts: Facts, link: int, k: int) -> bool:
    """A link `a r b` and `b is_a c`: by existentials on the left, and to Nothing."""
    a, c = facts.links[A, link], facts.subs[B, k]
    if c == BOTTOM:
        return _add_sub(rules, facts, a, BOTTOM, link, k, TO_NOTHING)
    for at in range(rules.starts[OF_LEFT, c], rules.starts[OF_LEFT, c + 1]):
        if rules.is_sub[facts.links[RELATION, link], rules.left[FIRST, at]] and not _add_sub(
            rules, facts, a, rules.left[SECOND, at], link, k, rules.left[RULE, at]
        ):
            return False
    return True


@compiled
def _take_sub(rules: Rules, facts: Facts, k: int) -> int:
    """All that follows from one `a is_a b` and what is done."""
    a, b = facts.subs[A, k], facts.subs[B, k]
    for at in range(rules.starts[OF_TOLD, b], rules.starts[OF_TOLD, b + 1]):
        if not _add_sub(rules, facts, a, rules.told[FIRST, at], k, NONE, rules.told[SECOND, at]):
            return MORE_SUBS
    for at in range(rules.starts[OF_SOME, b], rules.starts[OF_SOME, b + 1]):
        if not _add_link(
            facts, a, rules.some[FIRST, at], rules.some[SECOND, at], k, NONE, rules.some[RULE, at]
        ):
            return MORE_LINKS
    if rules.loop[b] >= 0 and not _add_link(facts, a, rules.loop[b], a, k, NONE, TO_ITSELF):
        return MORE_LINKS
    if rules.starts[OF_MEET, b] < rules.starts[OF_MEET, b + 1] and not _meet(rules, facts, k):
        return MORE_SUBS
    if b == BOTTOM or rules.starts[OF_LEFT, b] < rules.starts[OF_LEFT, b + 1]:
        link = facts.classes[LAST_BACKWARD, a]
        while link >= 0:
            if link < facts.counts[LINKS_DONE] and not _over_link(rules, facts, link, k):
                return MORE_SUBS
            link = facts.links[NEXT_BACKWARD, link]
    return DONE


@compiled
def _join(rules: Rules, facts: Facts, first: int, second: int) -> bool:
    """Two links, one after the other, by the chains that are about them."""
    row, column = (
        rules.chain_places[FIRST, facts.links[RELATION, first]],
        rules.chain_places[SECOND, facts.links[RELATION, second]],
    )
    if row < 0 or column < 0:
        return True
    columns = rules.chain_starts[0]  # kept in front of the starts
    cell = 1 + row * columns + column
    for at in range(rules.chain_starts[cell], rules.chain_starts[cell + 1]):
        if not _add_link(
            facts,
            facts.links[A, first],
            rules.chain[FIRST, at],
            facts.links[B, second],
            first,
            second,
            rules.chain[SECOND, at],
        ):
            return False
    return True


@compiled
def _take_link(rules: Rules, facts: Facts, k: int) -> int:
    """All that follows from one link `a r b` and what is done."""
    a, relation, b = facts.links[A, k], facts.links[RELATION, k], facts.links[B, k]
    if not begin(rules, facts, b):
        return MORE_SUBS
    for at in range(rules.domain_starts[relation], rules.domain_starts[relation + 1]):
        if not _add_sub(rules, facts, a, rules.domain[FIRST, at], k, NONE, rules.domain[SECOND, at]):
            return MORE_SUBS
    fact = facts.classes[LAST_WANTED, b]
    while fact >= 0:
        if fact < facts.counts[SUBS_DONE] and not _over_link(rules, facts, k, fact):
            return MORE_SUBS
        fact = facts.subs[NEXT_WANTED, fact]
    return DONE if _chained(rules, facts, k) else MORE_LINKS


@compiled
def _chained(rules: Rules, facts: Facts, k: int) -> bool:
    """Chains that a new link is the first or the second part of."""
    a, relation, b = facts.links[A, k], facts.links[RELATION, k], facts.links[B, k]
    if rules.chain_places[FIRST, relation] >= 0:
        other = facts.classes[LAST_FORWARD, b]
        while other >= 0:
            if other <= k and not _join(rules, facts, k, other):
                return False
            other = facts.links[NEXT, other]
    if rules.chain_places[SECOND, relation] >= 0:
        other = facts.classes[LAST_BACKWARD, a]
        while other >= 0:
            if other < k and not _join(rules, facts, other, k):
                return False
            other = facts.links[NEXT_BACKWARD, other]
    return True


@compiled
def begin(rules: Rules, facts: Facts, a: int) -> bool:
    """Every class is itself, and a Thing where a rule asks for that; False where there is no room."""
    if facts.classes[LAST, a] >= 0:
        return True
    if (
        rules.starts[OF_TOLD, TOP] < rules.starts[OF_TOLD, TOP + 1]
        or rules.starts[OF_SOME, TOP] < rules.starts[OF_SOME, TOP + 1]
        or (rules.starts[OF_MEET, TOP] < rules.starts[OF_MEET, TOP + 1])
    ):
        if facts.counts[SUBS] + 2 > facts.subs.shape[1] or 2 * facts.counts[SUBS] + 4 > len(facts.sub_table):
            return False
        _add_sub(rules, facts, a, TOP, NONE, NONE, ITSELF)
    return _add_sub(rules, facts, a, a, NONE, NONE, ITSELF)


@compiled
def begin_all(rules: Rules, facts: Facts, first: int, count: int) -> int:
    """Begin with named classes; returns how many are done."""
    for a in range(first, count):
        if not begin(rules, facts, a):
            return a
    return count


@compiled
def saturate(rules: Rules, facts: Facts, steps: int) -> int:
    """Derive all that follows, or what follows in `steps`: `DONE`, or what there is too little room for."""
    counts = facts.counts
    for _ in range(steps):
        if counts[SUBS_DONE] < counts[SUBS]:
            status = _take_sub(rules, facts, counts[SUBS_DONE])
            if status != DONE:
                return status
            counts[SUBS_DONE] += 1
        elif counts[LINKS_DONE] < counts[LINKS]:
            status = _take_link(rules, facts, counts[LINKS_DONE])
            if status != DONE:
                return status
            counts[LINKS_DONE] += 1
        else:
            break
    return DONE


@compiled
def rehash(table: Ints, rows: Ints, count: int, linked: bool) -> None:
    """Fill a new table with what is there."""
    mask = np.uint64(len(table) - 1)
    for number in range(count):
        one = _mixed(rows[A, number], rows[RELATION, number]) if linked else np.uint64(rows[A, number])
        place = _mixed(one, rows[B, number]) & mask
        while table[np.int64(place)] >= 0:
            place = (place + np.uint64(1)) & mask
        table[np.int64(place)] = number


@compiled
def _pairs_of(facts: Facts, a: int, relations: Relations) -> tuple[Ints, Ints]:
    """The relations of a class with what they lead to, by relation; `is_a` leads to itself."""
    names, rights = np.empty(16, np.int32), np.empty(16, np.int32)
    names[0], rights[0] = len(relations.starts) - 1, a
    count = 1
    link = facts.classes[LAST_FORWARD, a]
    while link >= 0:
        relation = facts.links[RELATION, link]
        for at in range(relations.starts[relation], relations.starts[relation + 1]):
            if relations.shown[relations.above[at]]:
                if count == len(names):
                    names = np.concatenate((names, names))
                    rights = np.concatenate((rights, rights))
                names[count], rights[count] = relations.above[at], facts.links[B, link]
                count += 1
        link = facts.links[NEXT, link]
    order = np.argsort(names[:count], kind="mergesort")
    return names[order], rights[order]


@compiled
def _spread(
    facts: Facts, right: int, stamp: int, seen: NDArray[np.int64], first: int, last: int, tails: Ints
) -> int:
    """Put the named classes above one behind `tails`, without those that were seen with this stamp; -1 without room."""
    fact = facts.classes[LAST, right]
    while fact >= 0:
        b = facts.subs[B, fact]
        if b != TOP and seen[b] != stamp:
            seen[b] = stamp
            if b < last:
                if first == len(tails):
                    return -1
                tails[first] = b
                first += 1
        fact = facts.subs[NEXT, fact]
    return first


@compiled
def edges(
    facts: Facts,
    place: NDArray[np.int64],
    num_named: int,
    wanted: Ints,
    relations: Relations,
    seen: NDArray[np.int64],
    columns: tuple[Ints, Ints, Ints],
) -> int:
    """The edges (class, relation, named class) of wanted classes, each once; the last relation is `is_a`.

    `place` is the class to go on with, and a stamp that `seen` has not held yet. A class without room for its edges is
    left for the next call; it gets larger arrays if it is the first one. Of an empty class, where `wanted` is 2, there
    is the edge to Nothing alone.
    """
    heads, names, tails = columns
    is_a = len(relations.starts) - 1
    size = 0
    while place[0] < len(wanted):
        a, begun = place[0], size
        if wanted[a] == 2:
            if size == len(heads):
                return begun
            heads[size], names[size], tails[size] = a, is_a, BOTTOM
            size += 1
        elif wanted[a]:
            of, rights = _pairs_of(facts, a, relations)
            for at in range(len(of)):
                if at == 0 or of[at] != of[at - 1]:
                    place[1] += 1
                if of[at] == is_a:
                    seen[a] = place[1]
                elif seen[rights[at]] == place[1]:
                    continue  # so all above it were seen
                after = _spread(facts, rights[at], place[1], seen, size, num_named, tails)
                if after < 0:
                    place[1] += 1
                    return begun
                heads[size:after], names[size:after] = a, of[at]
                size = after
        place[0] += 1
    return size
