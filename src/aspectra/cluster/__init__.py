"""Shards of a collection in processes of their own, on one machine or several; they answer as one library.

The caller plans, grades conditions and shows hits: it reads the whole collection, whose folder all machines
share. Each shard's own process scores its papers and keeps their scores; what travels are probes that were
looked up, columns of grades, and the best papers.
"""

CLUSTER = "CLUSTER.json"  # in the folder of a collection whose shards are on a cluster
