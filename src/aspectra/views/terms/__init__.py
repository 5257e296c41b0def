"""Terms of aspects: which words of a paper name its problem, its method, its outcome."""
