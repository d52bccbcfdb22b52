# SPDX-License-Identifier: Apache-2.0
"""Reads variables of a Python function. Supports assignments, lists that grow, and `if` with the conditions that the rules need.

Nothing is executed. Evaluates a condition only if the variable depends on the condition. Source: the Python Language Reference, sections 6 and 7
"""

import ast
import operator

from manifest_import.documents import Refusal, scrubbed
from manifest_import.indexes import version_of

COMPARISONS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
               ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
VERSIONS = ("Version", "parse")


def refuse(node):
    raise Refusal(f"an expression that cannot be read: {scrubbed(ast.unparse(node))}")


class Function:
    def __init__(self, body, wanted, known):
        self.body, self.wanted = body, wanted
        self.values = {name: self.version(value) for name, value in known.items()}

    @staticmethod
    def version(value):
        """Returns the version in a value such as {"version": "12.9"}."""
        return version_of(value["version"]) if isinstance(value, dict) else value

    def concerns(self, node):
        return any(isinstance(each, ast.Name) and each.id == self.wanted for each in ast.walk(node))

    def run(self, statements):
        for node in statements:
            if isinstance(node, ast.If):
                if self.concerns(node):
                    self.run(node.body if self.value(node.test) else node.orelse)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.assign(node.targets[0].id, node.value)
            elif isinstance(node, ast.AugAssign) and self.concerns(node.target):
                self.values[self.wanted] = self.value(node.target) + self.value(node.value)
            elif isinstance(node, ast.Expr) and self.concerns(node):
                self.append(node.value)
            elif isinstance(node, (ast.For, ast.While, ast.With, ast.Try)) and any(
                    isinstance(each, ast.Name) and each.id == self.wanted and isinstance(each.ctx, ast.Store) for each in ast.walk(node)):
                refuse(node)

    def assign(self, name, node):
        """Assigns a variable. If the value cannot be read, the variable becomes unknown, or an error is raised for the requested variable."""
        try:
            value = self.value(node)
        except Refusal:
            if name == self.wanted:
                raise
            self.values.pop(name, None)
        else:
            self.values[name] = value

    def append(self, node):
        is_append = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
        if not is_append or not self.concerns(node.func.value):
            refuse(node)
        self.values[self.wanted] = [*self.values[self.wanted], self.value(node.args[0])]

    def value(self, node):
        """Returns the value of an expression. `known` may contain the values of any expressions, with the source text of an expression as the key."""
        if (text := ast.unparse(node)) in self.values:
            return self.values[text]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.JoinedStr):
            return "".join(str(self.value(part.value if isinstance(part, ast.FormattedValue) else part)) for part in node.values)
        if isinstance(node, ast.BoolOp):
            return (all if isinstance(node.op, ast.And) else any)(self.value(item) for item in node.values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self.value(node.operand)
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in VERSIONS and len(node.args) == 1:
            return version_of(self.value(node.args[0])) or refuse(node)
        return refuse(node)

    def comparison(self, node):
        values = [self.value(each) for each in (node.left, *node.comparators)]
        signs = [COMPARISONS.get(type(each)) or refuse(node) for each in node.ops]
        try:
            return all(sign(*values[place:place + 2]) for place, sign in enumerate(signs))
        except TypeError:
            return refuse(node)


def variable_in(text, name, wanted, known):
    """Returns the value of the variable at the end of the function. `known` contains the values of other variables, for example of parameters."""
    try:
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name == name]
    except (SyntaxError, ValueError):
        raise Refusal("not Python") from None
    if len(functions) != 1:
        raise Refusal(f"{len(functions)} functions named {scrubbed(name)}")
    function = Function(functions[0].body, wanted, known)
    function.run(function.body)
    if not function.values.get(wanted):
        raise Refusal(f"{wanted} is not set")
    return function.values[wanted]
