"""From texts to nodes."""

from stencil.errors import TemplateError
from stencil.nodes import Choice, Loop, Put, Text, Value
from stencil.tokens import tokens


def parse(template):
    """The nodes of a template; TemplateError for a mark that is not known, and for one without its `{end}`."""
    stack = [[]]
    for kind, what in tokens(template):
        if kind == "text":
            stack[-1].append(Text(what))
            continue
        if what == ["end"]:
            if len(stack) == 1:
                raise TemplateError("an {end} too many")
            stack.pop()
            continue
        node = _node(what)
        stack[-1].append(node)
        if isinstance(node, Loop | Choice):
            stack.append(node.body)
    if len(stack) > 1:
        raise TemplateError("an {end} is missing")
    return stack[0]


def _node(words):
    match words:
        case ["for", item, "in", name]:
            return Loop(item, name)
        case ["if", name]:
            return Choice(name)
        case ["set", name, *rest] if rest:
            return Put(name, " ".join(rest))
        case [name]:
            return Value(name)
    raise TemplateError("there is no mark {" + " ".join(words) + "}")
