"""Spark as the engine of rules: two plans.

plans             choose the plan
shares            shares of the sources, searched by the kernels of one machine
shared_graph      the searches over the graph that workers map into their memory
table_rounds      rules as tables: one statement of joins per round
written_answers   what both plans share: answers that lie in a data set

Sessions, tasks and files that workers map are those of `reshuffle.spark`.
"""
