"""Placeholder."""

from fastapi import APIRouter

from aspectra.app.web.rendering import Pages


def triage(pages: Pages) -> APIRouter:
    """Routes."""
    return APIRouter()
