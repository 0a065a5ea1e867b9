"""The same answers from DuckDB and Spark, for data larger than one process can hold.

    engine_interface  the interface of these engines
    engines           choose the engine and its work folder (`kg/unfinished_work`)
    deduction         constraints or rules over the relations of some facts
    ontology_rules    the rules of an ontology with what the facts bring to them
    machine_tables    automata as tables, and the recursive query that runs them
    rule_tables       rules as tables, and the one statement of a round
    duckdb_database   a database of DuckDB's: opened, asked, interrupted
    duckdb_engine     both on DuckDB: embedded, out of core
    fact_search       the facts behind one triple
    spark             shares of the sources for workers, or the same tables, round by round
    parquet_facts     facts that stay in Parquet files
    data_sets         Parquet data sets with a folder per relation
    estimates         how much memory facts take

Answers over a graph come from independent searches, one from each entity. So the work can be split by sources: into
buckets that fit into memory, or into shares for workers. If the graph is larger than a worker's memory, or if rules
have no automata, all rules are rows of tables, and a round is one statement of joins.
"""
