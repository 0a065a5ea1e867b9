"""The inner loops of the chase: pairs of relations, joins, retraction, sizes of proofs."""
