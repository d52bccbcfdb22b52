# SPDX-License-Identifier: Apache-2.0
"""Values in Python sources, Dockerfiles, Bazel's options, makefiles and JSON, and one place in any other text."""

import ast
import re

from manifest_import.documents import MAX_LIST, Refusal, parse_json, scrubbed


def only(found, what):
    """The one value that is there; another number of different values is refused."""
    values = list(dict.fromkeys(found))
    if len(values) != 1:
        raise Refusal(f"{what}: found {len(values)} values instead of one")
    return values[0]


def matched(text, pattern):
    """What the one group of the pattern finds: the same value at each place."""
    return only(re.findall(pattern, text, re.MULTILINE), scrubbed(pattern))


def python_value(text, name, path=()):
    """The literal that is assigned to a name on the outermost level, or a part of it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        raise Refusal("not Python") from None
    assigned = [node.value for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
                for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                if isinstance(target, ast.Name) and target.id == name]
    if len(assigned) != 1:
        raise Refusal(f"{scrubbed(name)} is assigned {len(assigned)} times")
    try:
        value = ast.literal_eval(assigned[0])
        for key in path:
            value = value[key]
    except ValueError:
        raise Refusal(f"{scrubbed(name)} is not a literal") from None
    except (KeyError, IndexError, TypeError):
        raise Refusal(f"{scrubbed(name)} has no {scrubbed(str(key))}") from None
    return value


def docker_argument(text, name):
    """The default of an ARG, or the value of an ENV, in which arguments before it are replaced."""
    values = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if match := re.match(r"(?:ARG|ENV)\s+(\w+)[= ]\"?([^\"\s]*)\"?", line):
            values[match[1]] = re.sub(r"\$\{(\w+)\}", lambda part: values.get(part[1], part[0]), match[2])
    if not values.get(name) or "$" in values[name]:
        raise Refusal(f"no value of {scrubbed(name)}")
    return values[name]


def bazel_option(text, config, variable):
    """The variable that --repo_env or --action_env sets for a configuration."""
    return matched(text, rf'^\w+:{re.escape(config)}\s+--(?:repo|action)_env[= ]{re.escape(variable)}="?([^"\n]*)"?\s*$')


def make_variable(text, condition, variable):
    """The variable in the branch of ifeq with that condition."""
    branches = re.split(r"^(?:else\s+)?ifeq\s*", text, flags=re.MULTILINE)
    chosen = [branch.partition("\n")[2] for branch in branches if branch.startswith(condition)]
    return only([match[1] for branch in chosen for match in re.finditer(rf"^\s*{re.escape(variable)}\s*[?:]?=\s*(\S+)\s*$", branch, re.MULTILINE)],
                f"{scrubbed(variable)} for {scrubbed(condition)}")


def json_value(data, path):
    node = parse_json(data, MAX_LIST)
    for key in path:
        node = node.at(key)
    if node.value is None:
        node.refuse("missing")
    return node.value
