"""Relevance against p-MRR as the contrast weight moves: python studies/plot_aspects.py TABLES.json FOLDER."""

from __future__ import annotations

from figures import number, plt, save, table

SHOWN = ("0.0", "0.8", "2.0", "3.0")

rows = table("What contrast buys and costs")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
for axis, column, place in ((axes[0], "NDCG%20", "pools"), (axes[1], "NDCG@20", "collection")):
    for roles, marker in (("predicted", "o"), ("released", "s")):
        mine = [row for row in rows if row["recipe"].startswith(roles)]
        points = [(number(row[f"p-MRR {place}"]), number(row[f"{column} {place}"])) for row in mine]
        axis.plot(*zip(*points, strict=True), marker + "-", label=f"{roles} roles", ms=4)
        for row, point in zip(mine, points, strict=True):
            weight = row["recipe"].rpartition(" ")[2]
            if weight in SHOWN:
                axis.annotate(weight, point, textcoords="offset points", xytext=(4, 4), fontsize=7)
    axis.set_xlabel("p-MRR (x100): how far a changed aspect changes the ranking")
    axis.set_ylabel(f"{column}, {place} (x100)")
    axis.grid(alpha=0.3)
axes[0].legend(fontsize=8)
figure.suptitle("Relevance against p-MRR as the contrast weight moves (numbers: the weight)", fontsize=9)
figure.tight_layout()
save(figure, "contrast.svg")
