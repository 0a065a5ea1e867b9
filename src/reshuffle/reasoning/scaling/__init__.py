"""Past one process: the same answers from DuckDB and Spark.

    engine_interface  what every engine is given and gives
    engines           which engine it is, and where it works (`kg/unfinished_work` keeps what is done)
    deduction         constraints or rules over the relations of some facts
    machine_tables    automata as tables, and the recursive query that runs them
    rule_tables       rules as tables, and the one statement of a round
    duckdb_database   a database of DuckDB's: opened, asked, interrupted
    duckdb_engine     both on DuckDB: embedded, out of core
    fact_search       the facts behind one triple
    spark             shares of the sources for workers, or the same tables, round by round
    parquet_facts     facts that stay in Parquet files
    data_sets         Parquet data sets with a folder per relation
    estimates         what facts would take in memory

Answers over a graph come from searches that start at every entity, and none of these searches needs another. So the
work can be cut by sources: into buckets that fit the memory, or into shares for workers. Where a graph is larger than a
worker, or where rules have no automata, all rules are rows of tables and a round is one statement of joins.
"""
