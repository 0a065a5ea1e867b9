"""Rules about particular entities: counted, weighed on top of a rule list, written and read, put on a graph."""
