"""From nodes to a text."""

from stencil.errors import UnknownName
from stencil.nodes import Choice, Loop, Put, Text
from stencil.parser import parse


def render(template, names):
    """The text that a template makes of a dict of names."""
    return _body(parse(template), dict(names))


def _body(nodes, names):
    return "".join(_text(node, names) for node in nodes)


def _text(node, names):
    if isinstance(node, Text):
        return node.text
    if isinstance(node, Put):
        names[node.name] = node.text
        return ""
    if isinstance(node, Choice):
        return _body(node.body, names) if names.get(node.name) else ""
    if isinstance(node, Loop):
        return _loop(node, names)
    return str(_meaning(node.name, names))


def _loop(node, names):
    parts = []
    for item in _meaning(node.name, names):
        parts.append(_body(node.body, {**names, node.item: item}))
    return "".join(parts)


def _meaning(name, names):
    if name not in names:
        raise UnknownName(name)
    return names[name]
