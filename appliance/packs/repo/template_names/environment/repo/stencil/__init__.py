"""Templates."""

from stencil.errors import TemplateError, UnknownName
from stencil.parser import parse
from stencil.render import render

__all__ = ["TemplateError", "UnknownName", "parse", "render"]
