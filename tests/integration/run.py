#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one class of a unittest file, or lists its classes.

Usage: run.py FILE CLASS    ends with status 0 (all passed), 1 (a test failed), or 77 (a test was skipped)
       run.py --list FILE   prints the names of the classes with tests
"""
import ast
import importlib.util
import pathlib
import sys
import unittest


def classes_in(path):
    """Returns the names of the classes with tests. Leaves out classes without a base class, because other classes inherit the tests of these
    classes."""
    for node in ast.parse(pathlib.Path(path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.bases and any(
            isinstance(item, ast.FunctionDef) and item.name.startswith("test") for item in node.body
        ):
            yield node.name


def load(path):
    path = pathlib.Path(path).resolve()
    sys.path[:0] = [str(path.parent), str(path.parent.parent)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def run(path, name):
    suite = unittest.defaultTestLoader.loadTestsFromName(name, load(path))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful() or result.testsRun + len(result.skipped) == 0:
        return 1
    for test, reason in result.skipped:
        print(f"{test.id()}: {reason}")
    return 77 if result.skipped else 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join(classes_in(sys.argv[2])))
    else:
        sys.exit(run(sys.argv[1], sys.argv[2]))
