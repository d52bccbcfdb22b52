# SPDX-License-Identifier: Apache-2.0
"""Reads values from Python sources, Dockerfiles, Bazel options, makefiles, JSON, YAML and TOML, and text at one place in any other file."""

import ast
import re
import tomllib

from manifest_import.documents import MAX_LIST, Refusal, decoded, parse_json, scrubbed
from manifest_import.indexes import MAX_INDEX
from manifest_import.yaml_tree import parse_yaml


def only(found, what):
    """Returns the only value. Raises an error if there is no value, or if there are several different values."""
    values = list(dict.fromkeys(found))
    if len(values) != 1:
        raise Refusal(f"{what}: found {len(values)} values instead of one")
    return values[0]


def matched(text, pattern):
    """Returns the string that the pattern's only group matches. If the pattern matches several times, all these strings must be equal."""
    return only(re.findall(pattern, text, re.MULTILINE), scrubbed(pattern))


def each_match(text, pattern, within=None):
    """Returns the string that the pattern's group matches, for each match. With `within`, searches only the text that matches `within`."""
    found = re.findall(pattern, matched(text, within) if within else text, re.MULTILINE)
    if not found:
        raise Refusal(f"nothing found: {scrubbed(pattern)}")
    return found


def python_value(text, name, path=()):
    """Returns the literal that is assigned to a name at the top level, or a part of the literal."""
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
    """Returns the default of an ARG, or the value of an ENV. Replaces references to earlier arguments."""
    values = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if match := re.match(r"(?:ARG|ENV)\s+(\w+)[= ]\"?([^\"\s]*)\"?", line):
            values[match[1]] = re.sub(r"\$\{(\w+)\}", lambda part: values.get(part[1], part[0]), match[2])
    if not values.get(name) or "$" in values[name]:
        raise Refusal(f"no value of {scrubbed(name)}")
    return values[name]


def bazel_option(text, config, variable):
    """Returns the variable that --repo_env or --action_env sets for a configuration."""
    return matched(text, rf'^\w+:{re.escape(config)}\s+--(?:repo|action)_env[= ]{re.escape(variable)}="?([^"\n]*)"?\s*$')


def make_variable(text, condition, variable):
    """Returns the variable in the branch of ifeq with a given condition."""
    branches = re.split(r"^(?:else\s+)?ifeq\s*", text, flags=re.MULTILINE)
    chosen = [branch.partition("\n")[2] for branch in branches if branch.startswith(condition)]
    return only([match[1] for branch in chosen for match in re.finditer(rf"^\s*{re.escape(variable)}\s*[?:]?=\s*(\S+)\s*$", branch, re.MULTILINE)],
                f"{scrubbed(variable)} for {scrubbed(condition)}")


def values_on(node, path):
    """Returns each value at the path. `*` matches every member or item, and NAME=VALUE matches the items that have this member."""
    if not path:
        return [node]
    key, rest = path[0], path[1:]
    items = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    name, sign, wanted = str(key).partition("=")
    if key == "*":
        chosen = items
    elif sign:
        chosen = [item for item in items if isinstance(item, dict) and str(item.get(name)) == wanted]
    else:
        is_there = key in node if isinstance(node, dict) else isinstance(node, list) and isinstance(key, int) and key < len(node)
        chosen = [node[key]] if is_there and node[key] is not None else []
    return [value for item in chosen for value in values_on(item, rest)]


def value_on(node, path):
    """Returns the value at the path; a list if the path contains `*` or a condition."""
    found = values_on(node, path)
    if not found:
        raise Refusal(f"{scrubbed('/'.join(map(str, path)))}: missing")
    is_many = any(key == "*" or "=" in str(key) for key in path)
    return found if is_many else found[0]


def json_value(data, path):
    return value_on(parse_json(data, MAX_INDEX).value, path)


def yaml_value(data, path):
    return value_on(parse_yaml(data, MAX_LIST), path)


def toml_value(data, path):
    try:
        return value_on(tomllib.loads(decoded(data, "TOML")), path)
    except tomllib.TOMLDecodeError:
        raise Refusal("not TOML") from None
