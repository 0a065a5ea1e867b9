"""Kinds of channels; the initial states Z^(0) decide what a channel means.

The theory asks for independent, non-negative coordinates with at least two possible values. On the CPU values are drawn
one after the other, so that the draw of an entity does not depend on how many come after it.

| kind | a coordinate is | in the paper |
| --- | --- | --- |
| bits | 1 with probability q, else 0 | q = 1/2 |
| official | 1 where a standard normal exceeds 1/2, so q = 0.31 | what the official code does |
| continuous | uniform in [0, 1): all values differ | allowed by its conditions |
| shared | one random bit pattern for all entities: a channel then tells types, not entities | not in the paper |
| private | 1 at one (entity, slot) per channel, 0 elsewhere: nothing can be confused | not in the paper |
| head | 1 in all slots of the query's head, 0 elsewhere: one channel per query | not in the paper |

`random.py` has the first four, `private.py` and `query.py` one each; `registry.py` chooses by the setting `initial`.
Each kind can begin states and score queries on a graph (`interface.py`).
"""
