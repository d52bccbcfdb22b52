# SPDX-License-Identifier: Apache-2.0
"""The wheel variants for NVIDIA, AMD and Intel GPUs that this machine can run.

Nvidia, Amd and Intel are plugins for variantlib (wheelnext/variantlib@c3f54f38, variantlib/protocols.py). They have the
namespaces, features and values of nvidia-, amd- and intel-variant-provider, but take all facts from gpuprobe's report. The plugins consider only GPUs
that a program can use.
"""
from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

import gpuprobe

__all__ = ["Amd", "FeatureConfig", "Intel", "Nvidia", "PLUGINS", "properties"]

Report = Dict[str, Any]
Version = Tuple[int, int]


@dataclass(frozen=True)
class FeatureConfig:
    """A feature with its values, best first."""

    name: str
    values: List[str]
    multi_value: bool = False


@functools.lru_cache(maxsize=1)
def _report() -> Optional[Report]:
    """Returns the report, which is cached because an installer calls three plugins. Returns None (no variant fits) if gpuprobe does not answer."""
    try:
        with gpuprobe.Client() as client:
            return client.describe()
    except (gpuprobe.Failure, TimeoutError) as problem:
        warnings.warn(f"gpuprobe does not answer: {problem}", stacklevel=2)
        return None


def _usable(report: Report, backend: str) -> List[Report]:
    return [gpu for gpu in report["gpus"] if gpu["backends"].get(backend, {}).get("usable") is True]


def _runtime(report: Report, api: str, key: str) -> Optional[Version]:
    """Returns the version of the API's library that answered, as (12, 8) for "12.8"."""
    return _version((report["runtimes"].get(api) or {}).get(key))


def _version(text: Optional[str]) -> Optional[Version]:
    parts = (text or "").split("-")[0].split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


def _once(values: Iterable[Optional[str]]) -> List[str]:
    return list(dict.fromkeys(value for value in values if value))


class _Plugin:
    """The interface that variantlib calls."""

    namespace: str
    is_aot_plugin = False  # the values depend on the machine

    @classmethod
    def of(cls, report: Report) -> List[FeatureConfig]:
        """The features that the machine in a report supports."""
        raise NotImplementedError

    @classmethod
    def get_supported_configs(cls) -> List[FeatureConfig]:
        report = _report()
        return cls.of(report) if report else []


class Nvidia(_Plugin):
    """Source: wheelnext/nvidia-variant-provider@ffea5d3b, nvidia_variant_provider/plugin.py."""

    namespace = "nvidia"
    FIRST, LAST, LAST_MINOR = (11, 0), (15, 20), 20
    LOWEST_CAPABILITY = (5, 0)

    @classmethod
    def of(cls, report: Report) -> List[FeatureConfig]:
        gpus = _usable(report, "cuda")
        cuda = _runtime(report, "cuda", "version")
        if not gpus or not cuda or not cls.FIRST <= cuda <= cls.LAST:
            return []
        configs = [FeatureConfig("cuda_version_lower_bound", cls._versions(cls.FIRST, cuda)),
                   FeatureConfig("cuda_version_upper_bound", cls._versions((cuda[0], cuda[1] + 1), cls.LAST))]
        capabilities = [_version(gpu["architecture"]["cuda_compute_capability"]) for gpu in gpus]
        best = max((known for known in capabilities if known), default=(0, 0))
        if best >= cls.LOWEST_CAPABILITY:
            code = [f"{best[0]}{minor}_real" for minor in range(best[1], -1, -1)]
            configs.append(FeatureConfig("sm_arch", [*code, f"{best[0]}0_virtual"], True))
        return [config for config in configs if config.values]

    @classmethod
    def _versions(cls, lowest: Version, highest: Version) -> List[str]:
        """Returns all versions from the highest to the lowest, with each major version after its minor versions."""
        values = []
        for major in range(highest[0], lowest[0] - 1, -1):
            last = highest[1] if major == highest[0] else cls.LAST_MINOR
            first = lowest[1] if major == lowest[0] else 0
            values += [f"{major}.{minor}" for minor in range(last, first - 1, -1)]
            values += [str(major)] if first == 0 else []
        return values

    @classmethod
    def get_all_configs(cls) -> List[FeatureConfig]:
        versions = cls._versions(cls.FIRST, cls.LAST)
        code = [f"{major}{minor}_{kind}" for kind in ("real", "virtual") for major in range(12, 4, -1) for minor in range(9, -1, -1)]
        return [FeatureConfig("cuda_version_lower_bound", versions), FeatureConfig("cuda_version_upper_bound", versions),
                FeatureConfig("sm_arch", code, True)]


class Amd(_Plugin):
    """Source: wheelnext/amd-variant-provider@4d985a99, amd_variant_provider/plugin.py and detect_rocm.py."""

    namespace = "amd"
    TARGETS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201")
    VERSIONS = tuple(f"7.{minor}" for minor in range(10, -1, -1)) + ("6.4", "6.3")

    @classmethod
    def of(cls, report: Report) -> List[FeatureConfig]:
        targets = {(gpu["architecture"]["gfx_target"] or "").split(":")[0] for gpu in _usable(report, "rocm")}
        rocm = _runtime(report, "hip", "release")
        configs = [FeatureConfig("gfx_arch", sorted(targets - {""}), True),
                   FeatureConfig("rocm_version", [f"{rocm[0]}.{rocm[1]}"] if rocm and targets else [])]
        return [config for config in configs if config.values]

    @classmethod
    def get_all_configs(cls) -> List[FeatureConfig]:
        found = {config.name: config.values for config in cls.get_supported_configs()}
        return [FeatureConfig("rocm_version", _once([*cls.VERSIONS, *found.get("rocm_version", [])])),
                FeatureConfig("gfx_arch", _once([*cls.TARGETS, *found.get("gfx_arch", [])]), True)]


class Intel(_Plugin):
    """Source: wheelnext/intel-variant-provider@9516bd28, intel_variant_provider/plugin.py and devices.py."""

    namespace = "intel"
    # Each IP version that the provider knows, with the base version whose kernels a GPU of this IP version can also run.
    BASES = {
        "35.11.0": None, "35.10.4": None, "30.5.4": "30.0.4", "30.4.4": "30.0.4", "30.3.1": "30.0.4", "30.1.0": "30.0.4",
        "30.0.4": None, "20.4.4": "20.1.0", "20.2.0": "20.1.0", "20.1.0": None, "12.74.4": None, "12.71.4": "12.70.4",
        "12.70.4": None, "12.60.7": None, "12.57.0": "12.55.8", "12.56.5": "12.55.8", "12.55.8": None, "12.10.0": None,
        "12.4.0": None, "12.3.0": None, "12.2.0": None, "12.1.0": None, "12.0.0": None,
    }

    @classmethod
    def of(cls, report: Report) -> List[FeatureConfig]:
        versions = [gpu["architecture"]["intel_ip"] for gpu in _usable(report, "sycl")]
        known = [version for version in versions if version in cls.BASES]
        values = _once(each for version in known for each in (version, cls.BASES[version]))
        return [FeatureConfig("device_ip", values, True)] if values else []

    @classmethod
    def get_all_configs(cls) -> List[FeatureConfig]:
        return [FeatureConfig("device_ip", list(cls.BASES), True)]


PLUGINS = (Nvidia, Amd, Intel)


def properties(report: Report) -> Dict[str, Dict[str, List[str]]]:
    """Returns the values of each feature of each namespace, best first, in the format of static-properties."""
    return {plugin.namespace: {config.name: config.values for config in plugin.of(report)} for plugin in PLUGINS}
