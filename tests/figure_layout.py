"""Faults in the layout of a figure, found in its SVG: text outside the canvas, overlapping or too small.

Reads the SVG that matplotlib writes with text as paths: each text is a group of glyphs under a comment that
holds the text. What is checked is therefore the file that readers get, whichever program wrote its numbers.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree as Tree

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import BadInput
from aspectra.lab.figures.drawing import SMALLEST

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_STEP = re.compile(r"(translate|scale|rotate|matrix)\(([^()]{0,200})\)")
_NUMBER = re.compile(r"-?\d++(?:\.\d++)?(?:e[-+]?\d++)?")
_ALLOWED = 0.6  # points by which boxes may touch; glyphs of neighbouring lines do
_LARGEST = 20_000_000
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text where it is drawn, in points from the upper left corner.

    Attributes:
        text: as written.
        left, top, right, bottom: of its ink.
        size: of its font.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float

    def overlaps(self, other: PlacedText) -> bool:
        """Whether the inks of both share more than a hair's breadth."""
        return (
            min(self.right, other.right) - max(self.left, other.left) > _ALLOWED
            and min(self.bottom, other.bottom) - max(self.top, other.top) > _ALLOWED
        )


def layout_faults(svg: str) -> list[str]:
    """What is wrong with the texts of a figure, one sentence each; empty where nothing is.

    Args:
        svg: as matplotlib writes it, with text as paths.

    Raises:
        BadInput: it is no such file, or holds no text at all.
    """
    (width, height), texts = placed_texts(svg)
    if not texts:
        raise BadInput("the figure holds no text that can be checked", why="text must be written as paths")
    out = []
    for one in texts:
        if one.left < 0 or one.top < 0 or one.right > width or one.bottom > height:
            out.append(f"{one.text!r} leaves the canvas")
        if one.size < SMALLEST - 0.01:
            out.append(f"{one.text!r} is of {one.size:.1f} points, less than {SMALLEST:g}")
    ordered = sorted(texts, key=lambda one: one.left)
    for first, second in combinations(ordered, 2):
        if first.overlaps(second):
            out.append(f"{first.text!r} overlaps {second.text!r}")
    return out


def placed_texts(svg: str) -> tuple[tuple[float, float], list[PlacedText]]:
    """The size of the canvas in points, and every text on it.

    Raises:
        BadInput: it cannot be read.
    """
    if len(svg) > _LARGEST or "<!ENTITY" in svg:
        raise BadInput("the figure is no SVG of matplotlib", why="it is too large, or declares entities")
    builder = Tree.TreeBuilder(insert_comments=True)
    try:
        root = Tree.fromstring(svg, Tree.XMLParser(target=builder))
    except Tree.ParseError as error:
        raise BadInput("the figure is no SVG", why=str(error)) from error
    box = [float(part) for part in _NUMBER.findall(root.get("viewBox", ""))]
    if len(box) != 4:
        raise BadInput("the figure has no size", why="its viewBox is missing")
    glyphs = {f"#{path.get('id')}": _corners(path) for path in root.iter(f"{_SVG}path") if path.get("id")}
    found = [made for group, text in _texts(root) if (made := _placed(group, text, glyphs)) is not None]
    return (box[2], box[3]), found


def _texts(root: Tree.Element) -> Iterator[tuple[Tree.Element, str]]:
    """Groups that hold the glyphs of a text, with that text."""
    for group in root.iter(f"{_SVG}g"):
        if not (group.get("id") or "").startswith("text_"):
            continue
        words = ""
        for child in group:
            if not isinstance(child.tag, str):  # a comment
                words = html.unescape((child.text or "").strip())
            elif child.tag == f"{_SVG}g" and words:
                yield child, words
                words = ""


def _placed(group: Tree.Element, text: str, glyphs: dict[str, Matrix]) -> PlacedText | None:
    corners: list[Matrix] = []
    size = 0.0

    def walk(element: Tree.Element, above: Matrix) -> None:
        nonlocal size
        here = above @ _matrix(element.get("transform", ""))
        if element.tag == f"{_SVG}use":
            points = glyphs.get(element.get(_LINK, ""))
            if points is not None and len(points):
                x, y = float(element.get("x", 0)), float(element.get("y", 0))
                corners.append((points + np.array((x, y))) @ here[:2, :2].T + here[:2, 2])
            return
        size = max(size, 100 * math.hypot(here[0, 0], here[1, 0])) if element is group else size
        for child in element:
            if isinstance(child.tag, str) and child.tag != f"{_SVG}defs":
                walk(child, here)

    walk(group, np.eye(3))
    if not corners:
        return None
    ink = np.concatenate(corners)
    (left, top), (right, bottom) = ink.min(0), ink.max(0)
    return PlacedText(text, float(left), float(top), float(right), float(bottom), size)


def _corners(path: Tree.Element) -> Matrix:
    """(points, 2) every coordinate of a path, control points among them: they lie around the curve."""
    numbers = [float(part) for part in _NUMBER.findall(path.get("d", ""))]
    points = np.array(numbers[: len(numbers) // 2 * 2]).reshape(-1, 2)
    here = _matrix(path.get("transform", ""))
    return points @ here[:2, :2].T + here[:2, 2]


def _matrix(transform: str) -> Matrix:
    out = np.eye(3)
    for name, given in _STEP.findall(transform):
        numbers = [float(part) for part in _NUMBER.findall(given)]
        step = np.eye(3)
        if name == "translate":
            step[:2, 2] = [*numbers, 0.0][:2]
        elif name == "scale":
            step[0, 0], step[1, 1] = numbers[0], numbers[-1]
        elif name == "rotate":
            turn = math.radians(numbers[0])
            step[:2, :2] = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
        else:
            step[:2] = np.array(numbers).reshape(3, 2).T
        out = out @ step
    return out
