"""Weighted rule lists: readable models that predict links (no torch).

    score(h, r, t) =  sum over the rules of r:  weight + count weight * log c     where c > 0 walks lead from h to t
                    + distance_r(steps from h to t) + types_r(t)

`rule_finding` lists bodies that lead from the head of a fact to its tail, `features` counts walks along them, and
`fitting` finds weights by a softmax over all entities with a prior by confidence. A `RuleModel` is the result: data
that `model_text` writes as a file for people. `rule_answers` puts it on a graph, and `sums` writes scores out.
"""

from reshuffle.rulelist.learner import RuleSettings, learn_rules, refit
from reshuffle.rulelist.model_text import is_rule_model, load_rule_model, save_rule_model
from reshuffle.rulelist.rule_answers import RuleAnswers
from reshuffle.rulelist.rule_model import RuleModel, WeightedRule

__all__ = [
    "RuleAnswers",
    "RuleModel",
    "RuleSettings",
    "WeightedRule",
    "is_rule_model",
    "learn_rules",
    "load_rule_model",
    "refit",
    "save_rule_model",
]
