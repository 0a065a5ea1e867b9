"""Spark as the engine: sessions, and two plans.

plans             which plan is taken
sessions          a session of the user's, or one of ours
shares            shares of the sources, searched by the kernels of one machine
shared_graph      the graph in files, which workers map into their memory
rounds            rules as tables: one statement of joins per round
written_answers   what both plans share: answers that lie in a data set
"""
