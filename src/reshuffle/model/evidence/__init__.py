"""Evidence beside the constraints: what speaks for or against a triple without being a rule.

| kind | looks at | sign |
| --- | --- | --- |
| unary | the candidate alone: its roles, how often it has the one that is asked for, how connected it is | either |
| proximity | in how many steps the candidate is reached from the query's head, by any relations | either |
| paths | through which slots the candidate is reached, beyond what the constraints ask for | never negative |
| ways | how many random walks from the query's head end at the candidate | never negative |
| far | how many walks leave a candidate that lies further away than proximity looks | either |
| negative | facts that hold between the two already, as most pairs are related in one way only | never positive |

With `direct_facts = "both"` facts between the two may also speak for a triple. Then the kind "negative" has two parts:
what speaks against the triple is reported as "negative", what speaks for it as "proximity".

Unary and negative evidence are *local*: they look at the facts of the two ends alone, so they need no channel per query
and can be computed for some candidates without the others.

Each part is a number per query and candidate, added to the constraint score for ranking and reported beside it; none
enters the messages or the constraints, so what the rules guarantee is untouched.

To add a kind, write one file with a class that has the methods of `interface.EvidenceKind`, and add one line to
`EVIDENCE` in `model/architecture.py`.
"""
