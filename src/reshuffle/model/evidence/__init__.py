"""Evidence in addition to the constraints: scores for or against a triple that are not rules.

| kind | looks at | sign |
| --- | --- | --- |
| unary | the candidate alone: its roles, how often it has the requested role, its degree | either |
| proximity | the distance of the candidate from the query's head, over any relations | either |
| paths | the slots through which the candidate is reached, beyond those of the constraints | never negative |
| ways | how many random walks from the query's head end at the candidate | never negative |
| far | the connectivity of candidates beyond `num_hops` | either |
| negative | other facts between head and tail, as most pairs have only one relation | never positive |

With `direct_facts = "both"` facts between the two may also speak for a triple. Then the kind "negative" has two parts:
what speaks against the triple is reported as "negative", what speaks for it as "proximity".

Unary and negative evidence are *local*: they look at the facts of the two ends alone, so they need no channel per query
and can be computed for some candidates without the others.

Each part is a number per query and candidate, added to the constraint score for ranking and reported beside it; none
enters the messages or the constraints, so what the rules guarantee is untouched.

To add a kind, write one file with a class that has the methods of `interface.EvidenceKind`, and add one line to
`EVIDENCE` in `model/architecture.py`.
"""
