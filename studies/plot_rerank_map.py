"""NDCG%20 by rate of error: python studies/plot_rerank_map.py TABLES.json FOLDER.

One panel a kind of failing; a colour for each judge, a line for each sorter.
"""

from __future__ import annotations

from figures import number, plt, save, table

KINDS = {"error": (0, 10, 20, 30, 40), "place": (0, 10, 20, 30), "bad": (0, 10, 20, 30)}
TITLES = {"error": "wrong answers", "place": "answers by place", "bad": "malformed replies"}
DASHES = ["-", "--", "-.", ":", (0, (1, 1)), (0, (5, 1)), (0, (3, 1, 1, 1))]

rows = table("NDCG%20 by method and rate")
floor = number(next(row for row in rows if row["recipe"] == "bm25")["error 0 %"])
methods = [row for row in rows if "+" in row["recipe"]]
judges = list(dict.fromkeys(row["recipe"].partition("+")[0] for row in methods))
sorters = list(dict.fromkeys(row["recipe"].partition("+")[2] for row in methods))
colours = plt.get_cmap("tab10")
figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), sharey=True)
for axis, (kind, rates) in zip(axes, KINDS.items(), strict=True):
    for row in methods:
        judge, _, sorter = row["recipe"].partition("+")
        values = [number(row[f"{kind} {rate} %" if rate else "error 0 %"]) for rate in rates]
        style = {"color": colours(judges.index(judge)), "linestyle": DASHES[sorters.index(sorter)]}
        axis.plot(rates, values, linewidth=1.2, label=row["recipe"], **style)
    axis.axhline(floor, color="black", linewidth=0.8)
    axis.annotate("BM25", (0, floor), (2, 3), textcoords="offset points", fontsize=8)
    axis.set_xlabel(f"{TITLES[kind]}, %")
    axis.grid(alpha=0.3)
axes[0].set_ylabel("NDCG%20 x100, simulated")
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, ncol=5, fontsize=7, loc="lower center")
figure.suptitle("Simulated: an oracle that errs reranks CSFCube's development pools", fontsize=10)
figure.tight_layout(rect=(0, 0.16, 1, 1))
save(figure, "rerank-map.svg")
