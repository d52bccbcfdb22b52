# SPDX-License-Identifier: Apache-2.0
"""Builds a capture folder: files, nodes, answers of probes, expectations and provenance."""

import json
import os
import shutil

DRM_MAJOR = 226  # Documentation/admin-guide/devices.txt
NVIDIA_MAJOR = 195  # Documentation/admin-guide/devices.txt; minor 255 is /dev/nvidiactl
NVIDIACTL_MINOR = 255

# The files of a PCI function that the inventory reads. The converters never copy binary files (config, rom, vbios, pp_table, resourceN).
PCI_FILES = (
    "vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device", "uevent",
    "modalias", "numa_node", "boot_vga", "resource", "power/runtime_status", "power/control",
    "power_state", "mem_info_vram_total", "mem_info_vram_used", "mem_info_vis_vram_total",
    "mem_info_vis_vram_used", "mem_info_gtt_total", "mem_info_gtt_used", "mem_info_vram_vendor",
    "unique_id", "product_name", "product_number", "current_compute_partition",
    "current_memory_partition",
)
HWMON_FILES = ("name", "in0_label", "in1_label", "in1_input")


class Machine:
    """Collects the parts of one machine and writes them as a capture folder. Paths in `files` and `links` are below root/."""

    def __init__(self, name, source):
        self.name = name
        self.files = {}
        self.links = {}
        self.nodes = {}
        self.probes = {}
        self.expected = {}
        self.provenance = {"schema": 1, "source": source, "facts": [], "conversions": []}
        self.host = {
            "os": "linux", "arch": None, "kernel": None, "libc": {"name": None, "version": None},
            "cpu": {"model": None, "level": None, "features": [], "cores": None},
            "memory": {"total": None, "available": None},
            "container": None, "virtualization": None, "wsl": False,
        }
        self._device_paths = {}

    # -- provenance

    def stated(self, fact, where):
        self.provenance["facts"].append({"fact": fact, "stated_at": where})

    def converted(self, text):
        if text not in self.provenance["conversions"]:
            self.provenance["conversions"].append(text)

    # -- files below root/

    def text(self, path, content):
        self.files[path] = content if isinstance(content, bytes) else content.encode()

    def link(self, path, target_path):
        """Adds a relative link from `path` to `target_path`, both below root/."""
        self.links[path] = os.path.relpath(target_path, os.path.dirname(path))

    # -- sysfs

    def pci_device(self, address, bridges=(), root=None):
        """Adds the folder of a PCI function, and its link in /sys/bus/pci/devices. `bridges` lists the bridges above the function, beginning at the
        root. Returns the folder."""
        root = root or "pci" + (bridges[0] if bridges else address)[:7]
        path = "/".join(["sys/devices", root, *bridges, address])
        self._device_paths[address] = path
        self.link(f"sys/bus/pci/devices/{address}", path)
        self.link(f"{path}/subsystem", "sys/bus/pci")
        return path

    def pci_ids(self, address, pci_class, vendor, device, subsystem=None, revision=None):
        """Writes the files with the ids of a PCI function, in the kernel's format. Ids are hexadecimal strings."""
        path = self._device_paths[address]
        values = {"class": pci_class, "vendor": vendor, "device": device, "revision": revision}
        if subsystem:
            values["subsystem_vendor"], values["subsystem_device"] = subsystem
        for name, value in values.items():
            if value is not None and f"{path}/{name}" not in self.files:
                self.text(f"{path}/{name}", f"0x{value.lower()}\n")

    def driver(self, address, name):
        path = self._device_paths[address]
        self.link(f"{path}/driver", f"sys/bus/pci/drivers/{name}")
        self.link(f"sys/bus/pci/drivers/{name}/{address}", path)

    def drm_node(self, address, name, dev=None, uevent=None):
        """Adds a DRM minor (card0, renderD128) of a PCI function. The number of the minor follows from its name."""
        path = f"{self._device_paths[address]}/drm/{name}"
        minor = int("".join(c for c in name if c.isdigit()))
        self.text(f"{path}/dev", dev or f"{DRM_MAJOR}:{minor}\n")
        if uevent:
            self.text(f"{path}/uevent", uevent)
        self.link(f"{path}/device", self._device_paths[address])
        self.link(f"{path}/subsystem", "sys/class/drm")
        self.link(f"sys/class/drm/{name}", path)
        self.node(f"/dev/dri/{name}", DRM_MAJOR, minor)

    def kfd_link(self):
        self.link("sys/class/kfd/kfd", "sys/devices/virtual/kfd/kfd")

    # -- the other parts

    def node(self, path, major, minor, mode=None, group=None, accessible=None):
        self.nodes[path] = {"major": major, "minor": minor, "mode": mode, "group": group,
                            "accessible": accessible}

    def nvidia_nodes(self, mode=None, group=None, accessible=None):
        """Adds the nodes that all NVIDIA GPUs share. nvidia-uvm has a dynamic major number."""
        self.node("/dev/nvidiactl", NVIDIA_MAJOR, NVIDIACTL_MINOR, mode, group, accessible)
        self.node("/dev/nvidia-uvm", None, None)
        self.converted("/dev/nvidia-uvm is listed with null members: the source does not say that it was missing.")

    def probe(self, api, devices, driver=None, outcome="answered", note=None, runtime=None):
        key = f"{api}.{driver}" if driver else api
        document = {"outcome": outcome, "devices": devices, "note": note}
        if runtime:
            document["runtime"] = runtime
        self.probes[key] = document

    def read_meminfo(self, text):
        """Reads the host's memory in bytes from the text of /proc/meminfo."""
        for line in text.decode(errors="replace").splitlines():
            for label, member in (("MemTotal:", "total"), ("MemAvailable:", "available")):
                if line.startswith(label):
                    self.host["memory"][member] = int(line.split()[1]) * 1024

    def read_cpuinfo(self, text):
        lines = text.decode(errors="replace").splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        if models:
            self.host["cpu"]["model"] = models[0]
            self.host["cpu"]["cores"] = len(models)

    # -- writing

    def write(self, machines):
        folder = os.path.join(machines, self.name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        write_json(f"{folder}/capture.json", {"schema": 1, "host": self.host})
        write_json(f"{folder}/nodes.json", self.nodes)
        write_json(f"{folder}/expected.json", self.expected)
        write_json(f"{folder}/provenance.json", self.provenance)
        for key, document in self.probes.items():
            write_json(f"{folder}/probes/{key}.json", document)
        for path, content in self.files.items():
            target = f"{folder}/root/{path}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)
        for path, target in self.links.items():
            link = f"{folder}/root/{path}"
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(target, link)


def write_json(path, document):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, ensure_ascii=False)
        file.write("\n")


def case_source(case):
    """Returns the `source` part of provenance.json from a case of the index."""
    source = case["source"]
    return {"repo": source["repo"], "commit": source["commit"], "path": source["path"],
            "licence": source["licence"]}


def copy_stated(machine, case):
    """Copies the facts that the source states according to the index."""
    for fact in case["facts"]:
        machine.stated(fact["fact"], fact["stated_at"])


def gpu(address, **members):
    """Returns an expected GPU at a PCI address."""
    return {"id": f"pci:{address}", **members}


def gap(reason, value):
    """Marks a correct value that gpuprobe does not find yet. If gpuprobe finds the value, the test fails until the mark is removed."""
    return {"_known_gap": reason, "_value": value}


def answered(**device):
    """Returns an API that is expected to list the GPU with the given facts."""
    view = {"outcome": "answered"}
    if device:
        view["device"] = device
    return view
