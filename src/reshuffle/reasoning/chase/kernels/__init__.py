"""The inner loops of the chase: key sets, pairs of relations, joins, retraction, cheapest proofs."""
