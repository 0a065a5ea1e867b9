"""Spark, for all work that falls into shares: answers of rules, links of models, the search for rules.

    spark_session   a session of the user's, or one of ours
    workers         tasks over shares, and what they report
    graph_files     the graph in files, which workers map into their memory

A task gets its share as a slice over whatever its work counts: sources, questions, first atoms, facts. It runs the
code of one machine on them. Nothing is exchanged between tasks. Graph and model lie in files that every worker sees,
and a process reads them once. Spark runs failed tasks again and hands over one report per share.
"""
