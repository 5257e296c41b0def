"""Placeholder."""

from fastapi import APIRouter

from aspectra.app.web.rendering import Pages


def trail_pages(pages: Pages) -> APIRouter:
    """Routes."""
    return APIRouter()
