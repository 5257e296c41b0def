"""Placeholder."""

from fastapi import APIRouter

from aspectra.app.web.rendering import Pages


def asking(pages: Pages) -> APIRouter:
    """Routes."""
    return APIRouter()
