# SPDX-License-Identifier: Apache-2.0
"""Reads the indexes of projects: a release on GitHub, an index of wheels, a project on PyPI, Ollama's presets.

Sources: the REST API of GitHub ("Get a release by tag name"); PEP 503 and 691; PEP 600 for manylinux;
https://docs.pypi.org/api/json/; cmake-presets(7), and CUDA_ARCHITECTURES and HIP_ARCHITECTURES of cmake-properties(7)
"""

import dataclasses
import html.parser
import re
import urllib.parse

from .documents import Refusal, decoded, parse_json, scrubbed

MAX_INDEX = 16 << 20  # bytes; PyTorch's index of torch has about 2 MB
MAX_FILES = 65536
MAX_PRESETS = 256
LINUX = re.compile(r"(?:^|\.)(?:many)?linux[0-9a-z_]*?_(x86_64|aarch64)(?:\.|$)")
GLIBC = re.compile(r"manylinux_([0-9]{1,3})_([0-9]{1,3})_(x86_64|aarch64)")
LEGACY_GLIBC = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclasses.dataclass
class Release:
    tag: str
    assets: dict  # name → members of a `file`


def github_release(data):
    release = parse_json(data, MAX_INDEX)
    assets = {}
    for asset in release.items("assets"):
        digest = asset.optional("digest", default="")
        if re.fullmatch("sha256:[0-9a-f]{64}", digest):
            assets[asset.required("name")] = {"urls": [asset.required("browser_download_url")], "sha256": digest[7:],
                                              "size": asset.required("size", "non-negative integer")}
    return Release(release.required("tag_name"), assets)


def version_of(text):
    """Returns the version as numbers for comparisons; None if it is not a release, for example 2.15.0.dev1."""
    return tuple(int(part) for part in text.split(".")) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}", text) else None


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names = []

    def handle_starttag(self, tag, attributes):
        target = dict(attributes).get("href") or ""
        if tag == "a":
            path = urllib.parse.urlsplit(target).path
            self.names.append(urllib.parse.unquote(path.rsplit("/", 1)[-1]))


def names_in_index(data):
    if data.lstrip()[:1] == b"{":
        return [file.required("filename") for file in parse_json(data, MAX_INDEX).items("files")]
    links = Links()
    links.feed(decoded(data, "HTML"))
    if not links.names:
        raise Refusal("neither HTML with links nor JSON with files")
    return links.names


def newest_wheels(data):
    """Returns the newest version for each processor architecture among the wheels for Linux in an index."""
    newest = {}
    for name in names_in_index(data)[:MAX_FILES]:
        parts = name.removesuffix(".whl").split("-")
        version = version_of(parts[1].split("+")[0]) if name.endswith(".whl") and len(parts) in (5, 6) else None
        for architecture in LINUX.findall(parts[-1]) if version else ():
            newest[architecture] = max(version, newest.get(architecture, version))
    return newest


@dataclasses.dataclass
class Project:
    name: str
    version: str
    glibc: dict  # architecture → the oldest glibc with which any of its wheels runs, as numbers; None: unknown
    is_for_all: bool  # whether there is a source package, or a wheel for every platform


def glibc_of(tag):
    """Returns {architecture: oldest glibc} for a wheel's platform tag, which may contain several tags joined by dots."""
    found = {}
    for part in tag.split("."):
        exact, legacy = GLIBC.fullmatch(part), re.fullmatch(r"(manylinux[0-9]+)_(x86_64|aarch64)", part)
        if exact or legacy and legacy[1] in LEGACY_GLIBC:
            version = (int(exact[1]), int(exact[2])) if exact else LEGACY_GLIBC[legacy[1]]
            architecture = exact[3] if exact else legacy[2]
            found[architecture] = min(version, found.get(architecture, version))
    return found


def pypi_project(data):
    project = parse_json(data, MAX_INDEX)
    glibc, is_for_all = {}, False
    for file in project.items("urls"):
        name = file.required("filename")
        if file.optional("yanked", "boolean", False):
            continue
        is_for_all = is_for_all or name.endswith((".tar.gz", ".zip", "-any.whl"))
        for architecture, version in glibc_of(name.removesuffix(".whl").rsplit("-", 1)[-1]).items():
            glibc[architecture] = min(version, glibc.get(architecture, version))
    info = project.at("info")
    return Project(info.required("name"), info.required("version"), glibc, is_for_all)


@dataclasses.dataclass
class Code:
    """The targets for which a folder of Ollama has kernels; empty if the folder's preset lists no targets, as for Vulkan."""

    sass: list
    ptx: list
    gfx: list


def capability_of(word):
    """Returns the compute capability in 75, 75-real or 75-virtual as text; None for kernels that run only on one chip or family, for example 90a."""
    number = re.fullmatch("([0-9]{1,3})([0-9])(-real|-virtual)?", word)
    return f"{number[1]}.{number[2]}" if number else None


def code_of(variables):
    """Returns the kernels that a preset builds. Lists PTX only if there is no machine code of the same capability, because all other PTX is for chips
    for which Ollama does not use the folder."""
    words = [word for word in variables.get("CMAKE_CUDA_ARCHITECTURES", "").split(";") if capability_of(word)]
    targets = [word.split(":")[0] for word in variables.get("AMDGPU_TARGETS", "").split(";") if word]
    return Code([capability_of(word) for word in words if not word.endswith("-virtual")],
                [capability_of(word) for word in words if word.endswith("-virtual")], list(dict.fromkeys(targets)))


def inherited(preset):
    parents = preset.at("inherits").value or []
    parents = [parents] if isinstance(parents, str) else parents
    if not isinstance(parents, list) or not all(isinstance(each, str) for each in parents):
        preset.at("inherits").refuse("expected a name, or several")
    return parents


def variables_of(presets, name, known):
    """Returns the variables that a preset sets or inherits. The preset's own variables have precedence, and the first parent has precedence over all
    other parents. `known` caches the results, and prevents endless recursion."""
    if name not in known:
        known[name] = found = {}
        for parent in reversed(inherited(presets[name])):
            if parent not in presets:
                presets[name].at("inherits").refuse(f"{scrubbed(parent, 64)} is not there")
            found.update(variables_of(presets, parent, known))
        own = presets[name].optional("cacheVariables", "object", {})
        found.update({key: value for key, value in own.items() if isinstance(value, str)})
    return known[name]


def ollama_presets(data):
    """Returns {folder: Code} of the presets for Linux. Leaves out presets for Windows, and presets that the person who builds Ollama has to
    complete."""
    listed = parse_json(data, MAX_INDEX).items("configurePresets")
    if len(listed) > MAX_PRESETS:
        raise Refusal(f"over {MAX_PRESETS} presets")
    presets = {preset.required("name"): preset for preset in listed}
    folders, known = {}, {}
    for name, preset in presets.items():
        variables = variables_of(presets, name, known)
        folder = variables.get("OLLAMA_RUNNER_DIR", "")
        if folder and not preset.optional("hidden", "boolean", False) and not re.search("windows|darwin|user_arch", name):
            folders[folder] = code_of(variables)
    if not folders:
        raise Refusal("no preset for Linux has OLLAMA_RUNNER_DIR")
    return folders
