"""What follows between the classes of an ontology: classification in OWL 2 EL, and existential edges.

`normal_forms` makes simple rules of axioms. `saturation` derives everything by them with `saturation_kernels`, and
reads edges off it: `C p D` for each entailed `C SubClassOf p some D`. `class_proofs` says why; `class_answers` is the
interface.

The completion rules are those of the EL family (Baader, Brandt and Lutz 2005; Kazakov, Krötzsch and Simančík 2014):

    C is_a D, D is_a E                                      =>  C is_a E
    C is_a D, C is_a E, D and E is_a F                      =>  C is_a F
    C is_a D, D is_a p some E                               =>  C p E
    C p D, D is_a E, p is_a q, q some E is_a F              =>  C is_a F
    C p D, D q E, p is_a p', q is_a q', p' o q' is_a r      =>  C r E
    C p D, D is_a Nothing                                   =>  C is_a Nothing

A range makes the filler of an existential a class of its own, below the filler and the range.
"""
