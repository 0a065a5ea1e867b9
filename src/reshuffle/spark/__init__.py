"""Spark for work that can be split: answers of rules, missing links of models, mining.

    spark_session   a session of the user's, or one of ours
    workers         tasks over shares, and what they report
    graph_files     the graph in files, which workers map into their memory

A task gets a slice of sources, questions, first atoms or facts, and runs the code of one machine on it. Tasks exchange
nothing. Graph and model lie in files that every worker sees,
and a process reads them once. Spark runs failed tasks again and hands over one report per share.
"""
