# SPDX-License-Identifier: Apache-2.0
"""Finds out which version of a project a data file describes, and whether the project's index has a newer version.

`releases` in tools/knowledge/rules.json names the index for each data file. FOLDER contains the downloaded index:
github/OWNER+NAME.json, pypi/PROJECT.json or npm/PACKAGE.json.
"""

import dataclasses
import re

from manifest_import.documents import read_file, within
from manifest_import.indexes import MAX_INDEX

from . import texts

NEWEST = {"github": ["tag_name"], "pypi": ["info", "version"], "npm": ["version"]}


@dataclasses.dataclass
class Version:
    application: str
    described: str | None
    checked: str | None = None
    newer: str | None = None
    is_looked_up: bool = False


def described(document):
    """Returns the version that a data file describes. For a library with several versions, returns the last version, which is the newest."""
    return (document.get("manifest", {}).get("version") or document.get("version") or document["source"].get("version")
            or next(reversed(document.get("versions", {})), None))


def numbers(version):
    return [int(part) for part in re.findall("[0-9]+", version)]


def is_newer(version, than):
    """Compares as many numbers as `than` contains, because a data file about 2.14 also describes 2.14.1."""
    known = numbers(than)
    return numbers(version)[:len(known)] > known


def newest_in(folder, index):
    """Returns the newest version in the index; None if the folder does not contain the index."""
    path = folder / index
    if not path.is_file():
        return None
    with within(index):
        return texts.json_value(read_file(path, MAX_INDEX), NEWEST[index.partition("/")[0]]).removeprefix("v")


def looked_up(table, document, folder, day):
    """Returns the versions in the data file and, if the folder has an index, the versions in the index."""
    source = document["source"]
    found = Version(document["name"], described(document), source.get("checked"), source.get("newer"))
    index = table.get("releases", {}).get(document["name"])
    newest = newest_in(folder, index) if index and found.described else None
    if newest is None:
        return found
    newer = newest if is_newer(newest, found.described) else None
    return dataclasses.replace(found, checked=day.isoformat(), newer=newer, is_looked_up=True)


def put(version, document):
    """Writes the versions that were looked up to the `source` of the data file, before its facts."""
    source = document["source"]
    facts = source.pop("facts")
    for key in ("checked", "newer"):
        source.pop(key, None)
        if getattr(version, key):
            source[key] = getattr(version, key)
    source["facts"] = facts
