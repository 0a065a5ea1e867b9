"""Rule extraction: the rules that a model has captured, to be read, corrected and reused.

A triple (e, r, f) puts the region B_r Z_e ⪯ Z_f between two embeddings. A rule r1;...;rn -> r is captured when the
regions of its body leave no room outside that of its head: B_r ⪯ B_rn ... B_r1, with identities anywhere between and
with round trips where inverses are known.

    hard matrices   each row one-hot or zero, so words compose to partial functions, and few of them   `hard`
    soft matrices   a rule is captured to a degree                                                     `soft`
    starts, weights one path with the rule's body gives the head some evidence                         `soft`

A captured rule may be true or false. With a graph, `extract_rules` measures each rule on it and sorts by confidence.
Nothing here needs torch; a trained model provides its matrices by `soft_matrices()`.
"""

from reshuffle.extraction.extract import extract_rules
from reshuffle.extraction.hard import Captured, captured_rules
from reshuffle.extraction.result import ExtractedRule, ExtractedRules
from reshuffle.extraction.soft import degree, evidence
from reshuffle.extraction.soft_matrices import Hardenable, HasSoftMatrices, SoftMatrices
from reshuffle.extraction.type_rules import Role, TypeRule, type_rules

__all__ = [
    "Captured",
    "ExtractedRule",
    "ExtractedRules",
    "Hardenable",
    "HasSoftMatrices",
    "Role",
    "SoftMatrices",
    "TypeRule",
    "captured_rules",
    "degree",
    "evidence",
    "extract_rules",
    "type_rules",
]
