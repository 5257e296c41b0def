"""Late interaction: one vector for each token or word, compared by MaxSim."""
