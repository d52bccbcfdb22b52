# SPDX-License-Identifier: Apache-2.0
"""Reads a GitHub workflow: the entries of a job's matrix, and the environment variables that its steps write.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
"""

import itertools
import re

from manifest_import.documents import Refusal, scrubbed, within
from manifest_import.yaml_tree import members_of, parse_yaml

from .expressions import evaluate, filled

MAX_WORKFLOW = 1 << 20  # bytes
MAX_ENTRIES = 1024
APPENDED = re.compile(r"""^\s*echo\s+(["'])(?P<name>[A-Za-z_]\w*)=(?P<value>.*)\1\s*>>\s*["']?\$\{?GITHUB_ENV\}?["']?\s*$""")


def mapping(parent, key):
    node = parent.get(key)
    return {} if node is None else members_of(node)


def job_of(data, name):
    jobs = mapping(members_of(parse_yaml(data, MAX_WORKFLOW)), "jobs")
    if name not in jobs:
        raise Refusal(f"no job {scrubbed(name)}; there are {', '.join(map(scrubbed, jobs))}")
    return members_of(jobs[name])


def fits(entry, part):
    return all(entry.get(key) == value for key, value in part.items())


def matrix_entries(data, job):
    """Returns the entries of the matrix, after include and exclude."""
    matrix = mapping(mapping(job_of(data, job), "strategy"), "matrix")
    if not matrix:
        raise Refusal(f"the job {scrubbed(job)} has no matrix that is written out")
    axes = {key: values for key, values in matrix.items() if key not in ("include", "exclude")}
    if not all(isinstance(values, list) for values in axes.values()):
        raise Refusal("an axis of the matrix that is not a list")
    entries = [dict(zip(axes, values)) for values in itertools.product(*axes.values())] if axes else []
    if len(entries) > MAX_ENTRIES:
        raise Refusal(f"over {MAX_ENTRIES} entries")
    removed = [members_of(part) for part in matrix.get("exclude") or []]
    entries = [entry for entry in entries if not any(fits(entry, part) for part in removed)]
    for part in matrix.get("include") or []:
        add_included(entries, members_of(part), axes)
    return entries


def add_included(entries, part, axes):
    """Adds an entry of `include`, which extends the entries whose axes it does not change. If there are no such entries, the entry of `include`
    becomes a separate entry."""
    own = {key: value for key, value in part.items() if key in axes}
    extended = [entry for entry in entries if fits(entry, own)] if axes else []
    for entry in extended:
        entry.update(part)
    if not extended:
        entries.append(dict(part))


def values_in_matrix(data, job, key, where):
    """Returns the values of `key` in the entries for which the expression `where` holds."""
    chosen = [entry for entry in matrix_entries(data, job)
              if not where or evaluate(where, {f"matrix.{name}": value for name, value in entry.items()})]
    if not chosen or any(key not in entry for entry in chosen):
        raise Refusal(f"no entry of {scrubbed(job)} has {scrubbed(key)}")
    return [entry[key] for entry in chosen]


def environment_value(data, job, variable, known):
    """Returns the value of the variable after all steps whose `if` is true. `known` contains the values of names in expressions."""
    root = members_of(parse_yaml(data, MAX_WORKFLOW))
    found = job_of(data, job)
    texts = {**mapping(root, "env"), **mapping(found, "env")}
    if variable not in texts:
        raise Refusal(f"the environment has no {scrubbed(variable)}")
    value = filled(texts[variable] or "", known)
    for number, step in enumerate(found.get("steps") or []):
        step = members_of(step)
        lines = [line for line in (step.get("run") or "").splitlines() if re.search(rf"\b{re.escape(variable)}=", line)]
        if not lines:
            continue
        with within(f"step {number + 1}"):
            condition = re.sub(r"^\s*\$\{\{(.*)\}\}\s*$", r"\1", step.get("if") or "true")
            if evaluate(condition, known):
                value = after_lines(lines, variable, value, known)
    return value


def after_lines(lines, variable, value, known):
    for line in lines:
        match = APPENDED.match(line)
        if not match or match["name"] != variable:
            raise Refusal(f"a line that cannot be read: {scrubbed(line.strip())}")
        value = re.sub(rf"\$\{{?{re.escape(variable)}\b\}}?", lambda _, before=value: before, filled(match["value"], known))
        if "$" in value:
            raise Refusal(f"another variable: {scrubbed(value)}")
    return value
