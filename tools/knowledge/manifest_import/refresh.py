# SPDX-License-Identifier: Apache-2.0
"""Updates the available files and their versions in the manifests of applications, from the indexes of the applications' projects.

Only Ollama's index contains requirements: the kernels in each folder. All other requirements in the data file stay unchanged. refresh does not add
new builds, and removes builds that no longer exist.
"""

import copy
import datetime
import os
import re

from . import localai
from .documents import scrubbed
from .indexes import version_of

PYTORCH = "https://download.pytorch.org/whl/"
BACKEND = "llama-cpp"  # the entry of LocalAI's gallery that the data file describes


class Renewal:
    """A data file that is being updated. For an application, `now` contains the manifest; all other data files have no manifest."""

    def __init__(self, document, path=None):
        self.before, self.document, self.path = document, copy.deepcopy(document), path
        self.old, self.now = document.get("manifest"), self.document.get("manifest")
        self.name, self.remarks, self.was_read = document["name"], [], False

    def manifest(self):
        """Returns the manifest as a separate document."""
        return {"schema": "gpuprobe.variants/1", "name": self.name, **self.now}

    def variants(self):
        """Iterates over (platform, name, variant). Variants may be removed during the iteration."""
        return [(platform, name, variant) for platform, content in self.now["platforms"].items()
                for name, variant in list(content["variants"].items())]

    def remark(self, text):
        self.remarks.append(f"{self.name}: {scrubbed(text, 512)}")

    def leave_out(self, platform, name, why):
        self.remark(f"{platform}/{name} is left out: {why}")
        del self.now["platforms"][platform]["variants"][name]

    def date(self, day):
        """Sets the dates. Makes the data file valid for half a year, starting on a given day."""
        end = (day.replace(day=1) + datetime.timedelta(days=184)).replace(day=min(day.day, 28))
        self.now["issued"], self.now["expires"] = (f"{each}T00:00:00Z" for each in (day, end))


def architecture_of(platform):
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.split("-")[1], platform.split("-")[1])


# GitHub ---------------------------------------------------------------------------------------------------------------

def asset_of(url, repository, tag):
    """Returns the name of a file in a release; None if the URL belongs to another release."""
    start = f"https://github.com/{repository}/releases/download/{tag}/"
    return url.removeprefix(start) if url.startswith(start) else None


def renew_file(file, asset, release, old):
    """Replaces a file with the file from the release. Returns the file's name if the release does not contain the file, and otherwise None."""
    name = asset.replace(old, release.tag)
    if name not in release.assets:
        return name
    found = release.assets[name]
    file.update(found)
    return None


def files_of(artifact):
    """Yields the file itself and its companions, each with a URL."""
    for file in (artifact, *artifact.get("companion_files", [])):
        if file.get("urls"):
            yield file, file["urls"][0]


def renew_by_release(renewal, repository, release):
    if renewal.document["source"]["url"].startswith(f"https://github.com/{repository}/releases/tag/v"):
        renew_archives(renewal, release)
    old, known = renewal.old.get("version", ""), []
    for platform, name, variant in renewal.variants():
        files = [(file, asset_of(url, repository, old)) for file, url in files_of(variant["artifact"])]
        files = [(file, asset) for file, asset in files if old and asset]
        missing = [lacking for file, asset in files if (lacking := renew_file(file, asset, release, old))]
        known += [asset.replace(old, release.tag) for _, asset in files]
        if missing:
            renewal.leave_out(platform, name, f"{missing[0]} is not in release {release.tag}, or has no digest in the release")
    if known:
        renewal.was_read = True
        renewal.now["version"] = release.tag
        source = renewal.document["source"]
        for place in [source, *source["facts"]]:
            if repository in place.get("url", ""):
                place["url"] = place["url"].replace(old, release.tag)
        note_new_assets(renewal, release, known)


def renew_archives(renewal, release):
    """Updates variants that use a folder in an archive of the application's own release. The name of this archive contains no version."""
    for platform, name, variant in renewal.variants():
        archive = variant["artifact"].get("x-archive")
        if archive is None:
            continue
        renewal.was_read = True
        if archive not in release.assets:
            renewal.leave_out(platform, name, f"{archive} is not in release {release.tag}, or has no digest in the release")
    if renewal.was_read:
        renewal.now["version"] = release.tag.removeprefix("v")
        source = renewal.document["source"]
        source["url"] = source["url"].rpartition("/")[0] + "/" + release.tag


def note_new_assets(renewal, release, known):
    """Reports new files whose names begin like the known names."""
    start = os.path.commonprefix([name for name in known if name.startswith(known[0].split("-")[0])])
    for name in sorted(set(release.assets) - set(known)):
        if name.startswith(start):
            renewal.remark(f"{name} is new and was not added, because its requirements are unknown")


# PyTorch --------------------------------------------------------------------------------------------------------------

def dotted(version, parts=2):
    return ".".join(str(part) for part in version[:parts])


def renew_by_wheels(renewal, lists):
    """Updates variants from PyTorch's indexes. `lists`: name of an index → newest version for each architecture."""
    known = set()
    newest = max((version for each in lists.values() for version in each.values()), default=None)
    for platform, name, variant in renewal.variants():
        index = (variant["artifact"].get("urls") or [""])[0]
        index = index.removeprefix(PYTORCH).strip("/") if index.startswith(PYTORCH) else None
        known.add(index)
        if index not in lists:
            continue
        renewal.was_read = True
        there = lists[index].get(architecture_of(platform))
        if there is None:
            renewal.leave_out(platform, name, f"{index} has no wheel for this platform")
        elif renewal.name == "torch":
            note_age(variant, there, newest)
    if renewal.name == "torch" and newest:
        renewal.now["version"] = dotted(newest)
        for index in sorted(set(lists) - known):
            renewal.remark(f"index {index} is new and was not added, because the kernels in its wheels are unknown")


def note_age(variant, there, newest):
    """Records the version for an index whose newest version is older than the version of the application, because pip would install this older
    version."""
    if there[:2] < newest[:2]:
        variant["version"] = dotted(there)
    else:
        variant.pop("version", None)


# PyPI -----------------------------------------------------------------------------------------------------------------

def normal(project):
    """Returns the normalized name of a project (PEP 503)."""
    return re.sub("[-_.]+", "-", project).lower()


def project_of(variant):
    artifact = variant["artifact"]
    name = artifact.get("x-package", artifact.get("ref", "") if artifact["type"] == "package" else "")
    return normal(name.split("[")[0])


def renew_by_project(renewal, project):
    about = [each for each in renewal.variants() if project_of(each[2]) == normal(project.name)]
    for platform, name, variant in about:
        renewal.was_read = True
        architecture = architecture_of(platform)
        host = variant.get("requires", {}).get("host", {})
        if architecture in project.glibc:
            renew_glibc(renewal, f"{platform}/{name}", host, dotted(project.glibc[architecture]))
        elif not project.is_for_all:
            renewal.leave_out(platform, name, f"{project.name} {project.version} has no wheel for this platform")
    if about and "version" in renewal.now and version_of(project.version):
        parts = len(renewal.now["version"].split("."))
        renewal.now["version"] = dotted(version_of(project.version), max(parts, 2))


def renew_glibc(renewal, place, host, version):
    if host.get("glibc_min", version) != version:
        renewal.remark(f"{place}: glibc {version} instead of {host['glibc_min']}")
        host["glibc_min"] = version


# LocalAI --------------------------------------------------------------------------------------------------------------

def renew_by_gallery(renewal, gallery):
    listed, skipped = localai.convert(gallery, BACKEND)
    images = {key: variant["artifact"]["ref"] for content in listed["platforms"].values()
              for key, variant in content["variants"].items()}
    renewal.was_read = True
    for platform, name, variant in renewal.variants():
        if name in images and (platform, name) != ("linux-aarch64", "default"):
            variant["artifact"]["ref"] = images[name]
        elif name not in images:
            renewal.leave_out(platform, name, "the gallery has no image for this capability")
    known = {name for _, name, _ in renewal.variants()}
    for key in sorted(set(images) - known):
        renewal.remark(f"capability {key} is new, or has the image of another capability; it was not added")
    for each in skipped:
        renewal.remark(f"of the gallery, {each}")


# Ollama ---------------------------------------------------------------------------------------------------------------

def renew_by_presets(renewal, folders):
    """Updates variants from Ollama's presets. `folders`: name of a folder of libraries → the kernels in its preset."""
    known = set()
    for platform, name, variant in renewal.variants():
        folder = variant["artifact"].get("ref", "").rpartition("/")[2]
        if variant["family"] == "cpu":
            continue
        renewal.was_read = True
        known.add(folder)
        if folder not in folders:
            renewal.leave_out(platform, name, f"no preset for Linux builds {folder}")
        else:
            renew_code(renewal, f"{platform}/{name}", variant["requires"]["device"], folders[folder])
    for folder in sorted(set(folders) - known):
        renewal.remark(f"folder {folder} is new and was not added, because its requirements, except its kernels, are unknown")


def renew_code(renewal, place, device, code):
    """Replaces the kernels in the data file with the kernels in the preset. If the GPUs of a build need different drivers, a person has to divide the
    kernels among the alternatives."""
    alternatives = device if isinstance(device, list) else [device]
    there = merged_code(alternatives)
    if there == {key: set(words) for key, words in vars(code).items()}:
        return
    if len(alternatives) > 1:
        renewal.remark(f"{place}: the preset has {told(code)}; not updated, because the GPUs in the data file need different drivers")
        return
    renewal.remark(f"{place}: {told(code)} now")
    put(device, "gfx", code.gfx)
    if "cuda" in device:
        put(device["cuda"], "sass", code.sass)
        put(device["cuda"], "ptx", code.ptx)


def merged_code(alternatives):
    of = lambda key: {word for each in alternatives for word in {**each, **each.get("cuda", {})}.get(key, [])}
    return {key: of(key) for key in ("sass", "ptx", "gfx")}


def told(code):
    return ", ".join(f"{key} {' '.join(words)}" for key, words in vars(code).items() if words) or "no kernels"


def put(members, key, words):
    if words:
        members[key] = words
    else:
        members.pop(key, None)
