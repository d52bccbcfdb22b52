# SPDX-License-Identifier: Apache-2.0
"""Converts LocalAI's backend/index.yaml to a manifest that contains the images of one backend, by capability.

Source: mudler/LocalAI@82c191af
"""

import copy
import dataclasses
import re

from .documents import MAX_LIST, Refusal, scrubbed, within
from .yaml_tree import Mapping, members_of, parse_yaml

MAX_ENTRIES = 4096
MAX_NAMED = 8  # maximum number of entries in an error message


def cuda(priority, **device):
    return {"family": "cuda", "tier": 400, "priority": priority, "requires": {"device": {"backend": "cuda", **device}}}


# The meaning of each key of `capabilities`: the platform, the major version of CUDA for images whose tag contains no
# version (0: no CUDA), and the variant; toolkit and artifact are added to the variant.
#
# LocalAI uses a GPU only if the GPU has more than 4 GiB, except on arm64, and does not check which kernels an image contains. LocalAI's list does not
# contain the processors of an image: the images for l4t are for arm64, and all other images run on x86_64.
#
# Source: pkg/system/capabilities.go. The Vulkan images need glibc 2.38 on the host: LocalAI#7914. The JetPack in the
# images for l4t and l4t-cuda-12 runs only on Jetsons.
CAPABILITIES = {
    "nvidia-cuda-13": ("linux-x86_64", 13, cuda(13, cuda={}, vram_min_mib=4097)),
    "nvidia-cuda-12": ("linux-x86_64", 12, cuda(12, cuda={}, vram_min_mib=4097)),
    "nvidia": ("linux-x86_64", 12, cuda(11, cuda={}, vram_min_mib=4097)),
    "nvidia-l4t-cuda-13": ("linux-aarch64", 13, cuda(13, cuda={})),
    "nvidia-l4t-cuda-12": ("linux-aarch64", 12, cuda(12, kinds=["tegra"], cuda={})),
    "nvidia-l4t": ("linux-aarch64", 12, cuda(11, kinds=["tegra"], cuda={})),
    "amd": ("linux-x86_64", 0, {"family": "rocm", "tier": 300, "requires": {
        "device": {"vendor": ["amd"], "vram_min_mib": 4097}}}),
    "intel": ("linux-x86_64", 0, {"family": "sycl", "tier": 250, "requires": {
        "device": {"backend": "level_zero", "vendor": ["intel"], "vram_min_mib": 4097}}}),
    "vulkan": ("linux-x86_64", 0, {"family": "vulkan", "tier": 200, "requires": {
        "host": {"glibc_min": "2.38"},
        "device": {"backend": "vulkan", "vram_min_mib": 4097, "kinds": ["discrete", "integrated", "tegra"],
                   "vulkan": {"instance_min": "1.2", "features": ["storageBuffer16BitAccess"]}}}}),
    "default": ("linux-x86_64", 0, {"family": "cpu", "tier": 0, "priority": 1}),
    "cpu": ("linux-x86_64", 0, {"family": "cpu", "tier": 0}),
}


@dataclasses.dataclass
class Entry:
    name: str
    uri: str  # empty: the entry has no URI
    capabilities: Mapping | None


def text_member(members, key):
    text = members.get(key)
    if not isinstance(text, str | None):
        raise Refusal(f"{key}: not a text")
    return text or ""


def entry_from(place, node):
    with within(place):
        members = members_of(node)
        name = text_member(members, "name")
        if not name:
            raise Refusal("name: missing")
    with within(f"{place} ({scrubbed(name)})"):
        entry = Entry(name, text_member(members, "uri"), members.get("capabilities"))
        if not isinstance(entry.capabilities, Mapping | None):
            raise Refusal("capabilities: not a mapping")
    return entry


def entries_of(root):
    if not isinstance(root, list):
        raise Refusal("not a list")
    if len(root) > MAX_ENTRIES:
        raise Refusal(f"more than {MAX_ENTRIES} entries")
    return [entry_from(f"[{number}]", node) for number, node in enumerate(root)]


def chosen_entry(entries, name):
    """Returns the entry with a given name that lists capabilities; without a name, the only entry that lists capabilities."""
    fit = [entry for entry in entries if entry.capabilities is not None and not entry.uri and name in ("", entry.name)]
    if len(fit) == 1 or fit and name:
        return fit[0]
    if not fit:
        raise Refusal(f"{scrubbed(name)}: " * bool(name) + "no entry with capabilities and without uri")
    names = ", ".join(scrubbed(entry.name) for entry in fit[:MAX_NAMED])
    raise Refusal(f"{len(fit)} entries, name one: {names}" + " …" * (len(fit) > MAX_NAMED))


def toolkit_of(ref, major):
    """Returns the toolkit version in a tag, for example 12.0 for "…-gpu-nvidia-cuda-12-llama-cpp". If the tag contains no version, returns the
    capability's major version."""
    found = re.search("-cuda-([^-]*)", ref)
    named = re.fullmatch("[0-9]{1,9}", found[1]) if found else None
    return f"{int(named[0]) if named else major}.0"


def unfit(key, ref):
    """Returns the reason why the image does not fit the capability: some capabilities refer to an image that was built for another capability."""
    if "://" in ref:
        return "not an OCI reference"
    if key in ("default", "cpu"):
        return "a build for a GPU" if "-gpu-" in ref or "-l4t-" in ref else None
    return "a build for processors" if "-cpu-" in ref else None


def place(key, backend, references, platforms):
    """Adds the image to the variants. Returns the reason if the image cannot be a variant, or None."""
    if key not in CAPABILITIES:
        return "means no GPU that is known on Linux"
    if backend not in references:
        return f"no backend with uri: {backend}"
    ref = references[backend].removeprefix("oci://")
    if why := unfit(key, ref):
        return f"{why}: {scrubbed(ref)}"
    name, major, variant = copy.deepcopy(CAPABILITIES[key])
    if major:
        variant["requires"]["device"]["cuda"]["toolkit"] = toolkit_of(ref, major)
    platform = platforms.setdefault(name, {})
    if key == "default" or key == "cpu" and "default" not in platform:
        platform["default"] = key
    platform.setdefault("variants", {})[key] = {**variant, "artifact": {"type": "oci", "ref": ref}}
    return None


def capabilities_of(backend):
    """Yields {capability: name of the backend's entry}, sorted by name."""
    with within("capabilities"):
        members = members_of(backend.capabilities)
    for key, named in sorted(members.items()):
        if not isinstance(named, str):
            raise Refusal(f"capabilities.{scrubbed(key)}: not a text")
        yield key, named


def convert(index, name=""):
    """Returns the manifest, and "capability: reason" for each capability that is left out."""
    with within("index"):
        entries = entries_of(parse_yaml(index, MAX_LIST))
        backend = chosen_entry(entries, name)
        with within(scrubbed(backend.name)):
            capabilities = list(capabilities_of(backend))
    # If several entries have the same name, use the first entry, as LocalAI does.
    references = {entry.name: entry.uri for entry in reversed(entries) if entry.uri}
    manifest = {"schema": "gpuprobe.variants/1", "name": f"localai-{backend.name}", "platforms": {}}
    reasons = [(key, place(key, named, references, manifest["platforms"])) for key, named in capabilities]
    return manifest, [f"{scrubbed(key)}: {scrubbed(why)}" for key, why in reasons if why]
