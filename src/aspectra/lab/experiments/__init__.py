"""Studies: recipes run over benchmarks, recorded, resumed, scored."""
