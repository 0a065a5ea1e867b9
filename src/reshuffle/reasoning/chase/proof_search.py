"""Proofs, smallest first: A* over partial proof trees.

A partial tree has open triples, which are known to follow but not yet derived. It is continued at its leftmost
open triple by every instance of every rule that concludes it, and trees come off the heap by their size so far
plus a lower bound for what is open; so the first complete tree is a smallest one. Rules are those of the program
(two atoms at most); fresh relations cost nothing and are flattened away at the end.

The bounds of `proof_sizes` find deep proofs over sparse facts at once. Where they mislead (dense fixpoints of mined
rules), the search gives up after a while, has the exact sizes settled, and then walks straight down.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.kg.rows import starts_of
from reshuffle.reasoning.chase.proof_sizes import UNREACHABLE, Bounds, CheapestSizes, Heights, LevelSizes
from reshuffle.reasoning.proofs import Proof

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from reshuffle.kg import Triple
    from reshuffle.reasoning.chase.program import CodedRule
    from reshuffle.reasoning.chase.store import Store

Key: TypeAlias = int

# Rules tried beside those of the tree at hand, before sizes are worth their price or further proofs are given up.
_EFFORT = 5_000
_AFFORDABLE = 1 << 30  # bytes of bits and sizes of all pairs
_MOST_EXACT = 2_000_000  # triples of a fixpoint of which all sizes are found in seconds


@dataclass(frozen=True)
class _Open:
    """A triple that still has to be derived, what it needs at least, and what it is a premise of."""

    key: Key
    least: int
    above: _Open | None
    after: _Open | None  # the next open triple of the tree

    def is_below(self, key: Key) -> bool:
        """Is this the triple `key`, or a premise, near or far, of it?"""
        here: _Open | None = self
        while here is not None and here.key != key:
            here = here.above
        return here is not None


@dataclass(frozen=True)
class _Choice:
    """One rule application of a partial tree; choices are linked from the last back to the first."""

    key: Key
    rule: CodedRule
    premises: tuple[tuple[Key, bool], ...]  # and whether each is open
    before: _Choice | None
    count: int


@dataclass(frozen=True)
class _Tree:
    """A partial tree, and its size so far plus what its open triples need at least."""

    bound: int
    open: _Open | None
    choices: _Choice | None


@dataclass(frozen=True)
class _Block:
    """The instances of one rule that conclude one triple, each with its premises and what these need."""

    rule: CodedRule
    keys: NDArray[np.int64]  # instance premise
    least: NDArray[np.int64]  # instance premise

    @property
    def totals(self) -> NDArray[np.int64]:
        total: NDArray[np.int64] = self.least.sum(axis=1) + (self.rule.source is not None)
        return total


class _Fan:
    """All continuations of a tree at its leftmost open triple, cheapest first, made when they are asked for."""

    def __init__(self, tree: _Tree, opened: _Open, blocks: list[_Block]) -> None:
        self.tree, self.opened, self._blocks = tree, opened, blocks
        self._firsts = starts_of([len(block.keys) for block in blocks])
        self._totals = np.concatenate([block.totals for block in blocks]) if blocks else np.empty(0, np.int64)
        self._order: NDArray[np.int64] | None = None
        self._taken = 0

    @property
    def bound(self) -> int:
        """The lower bound of the cheapest continuation left; `UNREACHABLE` when there is none."""
        if self._taken == len(self._totals):
            return UNREACHABLE
        return self.tree.bound - self.opened.least + int(self._totals[self._place()])

    def _place(self) -> int:
        if self._taken == 0:
            return int(np.argmin(self._totals))
        if self._order is None:  # most fans are asked once only, and need no sorting
            self._order = np.argsort(self._totals, kind="stable")
        return int(self._order[self._taken])

    def take(self) -> tuple[CodedRule, list[Key], list[int]]:
        """The rule of the cheapest instance left, its premises and what these need at least."""
        place = self._place()
        self._taken += 1
        block = int(np.searchsorted(self._firsts, place, side="right")) - 1
        row = place - int(self._firsts[block])
        chosen = self._blocks[block]
        return chosen.rule, chosen.keys[row].tolist(), chosen.least[row].tolist()


class ProofSearch:
    """Finds proofs in one state of a store; after an update a new search is needed."""

    def __init__(self, store: Store, facts: NDArray[np.int64], named: Callable[[Key], Triple]) -> None:
        """`facts` is the set of given triples, as places of keys; `named` gives a key its names."""
        self._store, self._facts, self._named = store, facts, named
        self._bits = store.pairs.entity_bits
        self._bounds = Bounds(store.program, facts, self._bits, store.num_entities)
        self._sizes: CheapestSizes | LevelSizes | None = None
        self._heights: Heights | None = None
        self._blocks: dict[Key, list[_Block]] = {}  # of the goal at hand, since bounds are made for it
        self._by_head: dict[int, list[CodedRule]] = {}
        for rule in store.program.coded:
            self._by_head.setdefault(rule.head >> 1, []).append(rule)

    def proofs(self, goal: Key, *, most: int) -> list[Proof]:
        """Up to `most` proofs of a triple that holds, smallest first.

        A fact below the goal is its own proof. No proof uses a triple to derive itself. Where there are
        very many trees, the search may end before `most` are found, but not before the first; and in a
        dense fixpoint of millions of triples that first one is a low one, if the smallest is not found soon.
        """
        is_fact = bool(self._bounds.are_facts(np.array([goal]))[0])
        found = [Proof(self._named(goal))] if is_fact else []
        if goal >> 2 * self._bits in self._by_head:
            mask = (1 << self._bits) - 1
            self._blocks.clear()
            self._bounds.set_landmarks((goal >> self._bits & mask, goal & mask))
            found += map(self._proof, self._smallest(goal, most - len(found), must_find=not is_fact))
        return found

    def _smallest(self, goal: Key, most: int, *, must_find: bool) -> list[_Choice]:
        if most <= 0:
            return []
        # The smallest tree of what is no fact has no loop; every other may have.
        avoid_loops = most > 1 or not must_find
        found = list(itertools.islice(self._trees(goal, avoid_loops=avoid_loops), most))
        if found or not must_find:
            return found
        program, num_entities = self._store.program, self._store.num_entities
        given = (program, self._facts, self._bits, num_entities)
        dense = LevelSizes.num_bytes(program.num_relations, num_entities) <= _AFFORDABLE
        if dense and self._store.num_triples > _MOST_EXACT:
            self._heights = self._heights or Heights(*given)
            return [self._lowest(goal, self._heights)]
        self._sizes = self._sizes or (LevelSizes(*given) if dense else CheapestSizes(*given))
        self._sizes.reach(goal)
        self._blocks.clear()
        return list(itertools.islice(self._trees(goal, avoid_loops=avoid_loops, insist=True), most))

    def _lowest(self, goal: Key, heights: Heights) -> _Choice:
        """A proof by premises that have lower proofs, straight down and so never circular."""
        opened: _Open | None = _Open(goal, 0, None, None)
        tree: _Tree | None = _Tree(0, opened, None)
        while tree is not None and (opened := tree.open) is not None:
            blocks = [_lower(block, opened.key, heights) for block in self._blocks_of(opened.key)]
            fan = _Fan(tree, opened, [block for block in blocks if len(block.keys)])
            tree = self._continued(fan, avoid_loops=False)
        assert tree is not None
        assert tree.choices is not None
        return tree.choices

    # --- the search ---------------------------------------------------------------------------------

    def _trees(self, goal: Key, *, avoid_loops: bool, insist: bool = False) -> Iterator[_Choice]:
        """Complete trees in the order of their size, while the effort lasts or, to `insist`, at least one."""
        ticket = itertools.count()  # decides between equals, so that fans are never compared
        continued, most = 0, _EFFORT // len(self._by_head[goal >> 2 * self._bits])
        opened = _Open(goal, 0, None, None)
        heap = [(0, 0, 0, self._fan(_Tree(0, opened, None), opened))]
        while heap:
            fan = heapq.heappop(heap)[-1]
            if fan.bound >= UNREACHABLE:
                continue
            tree = self._continued(fan, avoid_loops=avoid_loops)
            fans = [fan]
            if tree is not None and tree.open is None:
                assert tree.choices is not None
                insist = False
                yield tree.choices
            elif tree is not None and tree.open is not None:
                continued += 1
                straight = 0 if tree.choices is None else tree.choices.count
                if continued - straight > most and not insist:
                    return
                fans.append(self._fan(tree, tree.open))
            for each in fans:
                # Of equal bounds the tree with more choices first: straight down, not level by level.
                count = 0 if each.tree.choices is None else each.tree.choices.count
                heapq.heappush(heap, (each.bound, -count, next(ticket), each))

    def _continued(self, fan: _Fan, *, avoid_loops: bool) -> _Tree | None:
        """The next tree of a fan, or None if a triple would derive itself."""
        bound, opened = fan.bound, fan.opened
        rule, keys, least = fan.take()
        if avoid_loops and any(opened.is_below(key) for key in keys):
            return None
        is_open = [needed > 0 or self._is_fresh(key) for key, needed in zip(keys, least, strict=True)]
        after = opened.after
        for key, needed, wanting in reversed(list(zip(keys, least, is_open, strict=True))):
            if wanting:
                after = _Open(key, needed, opened, after)
        before = fan.tree.choices
        premises = tuple(zip(keys, is_open, strict=True))
        count = 1 if before is None else before.count + 1
        return _Tree(bound, after, _Choice(opened.key, rule, premises, before, count))

    def _is_fresh(self, key: Key) -> bool:
        return self._store.program.is_fresh(key >> 2 * self._bits)

    def _fan(self, tree: _Tree, opened: _Open) -> _Fan:
        return _Fan(tree, opened, self._blocks_of(opened.key))

    def _blocks_of(self, key: Key) -> list[_Block]:
        if key not in self._blocks:
            mask = (1 << self._bits) - 1
            relation, head, tail = key >> 2 * self._bits, key >> self._bits & mask, key & mask
            blocks = [self._block(rule, head, tail) for rule in self._by_head.get(relation, ())]
            self._blocks[key] = [block for block in blocks if len(block.keys)]
        return self._blocks[key]

    def _block(self, rule: CodedRule, head: int, tail: int) -> _Block:
        atoms = rule.turned(rule.head & 1).body
        if rule.kind == "chain":
            keys = self._chains(atoms[0], atoms[1], head, tail)
        else:
            holding = all(self._store.contains(atom, head, tail) for atom in atoms)
            row = [self._store.key(atom, head, tail) for atom in atoms]
            keys = np.array([row] if holding else [], dtype=np.int64).reshape(-1, len(atoms))
        least = self._least(keys.ravel()).reshape(keys.shape)
        return _Block(rule, keys, least)

    def _chains(self, left: int, right: int, head: int, tail: int) -> NDArray[np.int64]:
        """The premises left(head, g) and right(g, tail), for every g that has both."""
        ahead, behind = self._store.ends(left, head), self._store.ends(right ^ 1, tail)
        middles = np.intersect1d(ahead, behind, assume_unique=True)
        columns = (self._keys(left, head, middles), self._keys(right, middles, tail))
        return np.stack(columns, axis=1)

    def _keys(
        self, code: int, starts: int | NDArray[np.int32], ends: int | NDArray[np.int32]
    ) -> NDArray[np.int64]:
        heads, tails = (ends, starts) if code & 1 else (starts, ends)
        relation = np.int64(code >> 1) << 2 * self._bits
        shifted: NDArray[np.int64] = np.left_shift(heads, self._bits, dtype=np.int64)
        return relation | shifted | tails

    def _least(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        bound = self._bounds.least(keys)
        return bound if self._sizes is None else np.maximum(bound, self._sizes.least(keys))

    # --- the tree that was found --------------------------------------------------------------------

    def _proof(self, last: _Choice) -> Proof:
        """The proof that a complete tree stands for.

        Choices are made at the leftmost open triple, so read backwards every premise is there before it is used.
        """
        leaves: dict[Key, Proof] = {}
        done: list[tuple[Proof, ...]] = []
        choice: _Choice | None = last
        while choice is not None:
            parts = []
            for key, is_open in choice.premises:
                if not is_open and key not in leaves:
                    leaves[key] = Proof(self._named(key))
                parts.append(done.pop() if is_open else (leaves[key],))
            if choice.rule.kind == "chain" and choice.rule.head & 1:
                parts.reverse()  # the rule was read from its second variable
            premises = tuple(itertools.chain.from_iterable(parts))
            source = choice.rule.source
            done.append(premises if source is None else (Proof(self._named(choice.key), source, premises),))
            choice = choice.before
        return done.pop()[0]


def _lower(block: _Block, key: Key, heights: Heights) -> _Block:
    """The instances whose premises are all lower than `key`, to be taken by the sum of their heights."""
    high = heights.of(block.keys.ravel()).reshape(block.keys.shape)
    low = (high < heights.of(np.array([key]))).all(axis=1)
    return _Block(block.rule, block.keys[low], high[low])
