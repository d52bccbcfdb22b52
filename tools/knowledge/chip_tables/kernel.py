# SPDX-License-Identifier: Apache-2.0
"""Reads facts about devices from the Linux kernel's GPU and accelerator drivers."""

import re

from . import c_tables

PCI_IDS_HEADER = "include/linux/pci_ids.h"
DRM, ACCEL = "drivers/gpu/drm/", "drivers/accel/"
NOUVEAU = DRM + "nouveau/nvkm/engine/device/base.c"
# driver → the file with its table, other files with definitions for the table, and the folder or file with the drm_driver that it registers
DRIVERS = {
    "amdgpu": (DRM + "amd/amdgpu/amdgpu_drv.c", (), DRM + "amd/amdgpu/amdgpu_drv.c"),
    "radeon": (DRM + "radeon/radeon_drv.c", ("include/drm/drm_pciids.h",), DRM + "radeon/radeon_drv.c"),
    "i915": (DRM + "i915/i915_pci.c", ("include/drm/intel/pciids.h",), DRM + "i915/i915_driver.c"),
    "xe": (DRM + "xe/xe_pci.c", ("include/drm/intel/pciids.h",), DRM + "xe/xe_device.c"),
    "gma500": (DRM + "gma500/psb_drv.c", (), DRM + "gma500/psb_drv.c"),
    "ast": (DRM + "ast/ast_drv.c", (DRM + "ast/ast_drv.h",), DRM + "ast/ast_drv.c"),
    "mgag200": (DRM + "mgag200/mgag200_drv.c", (), DRM + "mgag200/mgag200_drv.c"),
    "bochs-drm": (DRM + "tiny/bochs.c", (), DRM + "tiny/bochs.c"),
    "cirrus-qemu": (DRM + "tiny/cirrus-qemu.c", (), DRM + "tiny/cirrus-qemu.c"),
    "qxl": (DRM + "qxl/qxl_drv.c", (), DRM + "qxl/qxl_drv.c"),
    "vboxvideo": (DRM + "vboxvideo/vbox_drv.c", (), DRM + "vboxvideo/vbox_drv.c"),
    "vmwgfx": (DRM + "vmwgfx/vmwgfx_drv.c", (DRM + "vmwgfx/vmwgfx_drv.h",), DRM + "vmwgfx/vmwgfx_drv.c"),
    "hyperv_drm": (DRM + "hyperv/hyperv_drm_drv.c", (), DRM + "hyperv/hyperv_drm_drv.c"),
    "hibmc-drm": (DRM + "hisilicon/hibmc/hibmc_drm_drv.c", (), DRM + "hisilicon/hibmc/hibmc_drm_drv.c"),
    "loongson": (DRM + "loongson/lsdc_drv.c", (), DRM + "loongson/lsdc_drv.c"),
    "amdxdna": (ACCEL + "amdxdna/amdxdna_pci_drv.c", (), ACCEL + "amdxdna/amdxdna_pci_drv.c"),
    "habanalabs": (ACCEL + "habanalabs/common/habanalabs_drv.c", (ACCEL + "habanalabs/common/habanalabs.h",),
                   ACCEL + "habanalabs/common/habanalabs_drv.c"),
    "intel_vpu": (ACCEL + "ivpu/ivpu_drv.c", (ACCEL + "ivpu/ivpu_drv.h",), ACCEL + "ivpu/ivpu_drv.c"),
    "qaic": (ACCEL + "qaic/qaic_drv.c", (), ACCEL + "qaic/qaic_drv.c"),
}
VIRTIO_PCI_BASE = 0x1040  # virtio 1.0: PCI device id = 0x1040 + virtio device id
VIRTIO_VENDOR = 0x1af4


def rows_of(linux, driver):
    """Returns the rows of a driver's table."""
    table, headers, _ = DRIVERS[driver]
    texts = [linux.read(path) for path in (PCI_IDS_HEADER, *headers, table)]
    return c_tables.pci_rows(texts[-1], c_tables.macros_in(*texts))


def role_of(linux, driver):
    """Returns gpu, accelerator or display, according to the features that the driver registers with DRM."""
    text = c_tables.without_comments(linux.read(DRIVERS[driver][2]))
    found = " ".join(re.findall(r"\.driver_features\s*=([^;{}]*?),\s*(?:\.|\n\s*\n|#)", text))
    if "COMPUTE_ACCEL" in found:
        return "accelerator"
    return "gpu" if "DRIVER_RENDER" in found else "display"


def virtio_gpu_id(linux):
    text = linux.read("include/uapi/linux/virtio_ids.h")
    return VIRTIO_PCI_BASE + int(re.search(r"#define\s+VIRTIO_ID_GPU\s+(\d+)", text).group(1))


def discrete_descriptions(text):
    """Returns the names of the Intel device descriptions with is_dgfx."""
    macros = c_tables.macros_in(text)
    clean = c_tables.without_comments(text)
    found = set()
    for start in re.finditer(r"struct\s+(?:intel_device_info|xe_device_desc)\s+(\w+)\s*=\s*\{", clean):
        body = c_tables.expanded(clean[start.end():c_tables.closing(clean, start.end() - 1)], macros)
        if re.search(r"\.is_dgfx\s*=\s*1", body):
            found.add(start.group(1))
    return found


def is_integrated_intel(row, discrete):
    return row.driver_data.split("&")[-1].strip(" ()") not in discrete


def gfx_word(version):
    """Returns the name of a gfx target: gfx90c for 90012, gfx1030 for 100300."""
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor}{step:x}"


def gfx_by_ip(text):
    """Returns {case label: gfx target} from kfd_device.c, where a label is CHIP_X or (major, minor, revision)."""
    found, labels = {}, []
    pattern = re.compile(r"case (CHIP_\w+|IP_VERSION\([\d, ]+\)):|gfx_target_version = (\d+);|(break;)")
    for label, version, _ in pattern.findall(text[text.find("kgd2kfd_probe"):]):
        if label:
            labels.append(label)
        elif version and int(version):
            found.update(dict.fromkeys(labels, gfx_word(int(version))))
        labels = labels if label else []
    return found


def chips_by_ip(kfd, discovery):
    """Returns {CHIP_X: IP_VERSION(...)} from comments in kfd_device.c. For chips without a table of IPs, the versions are in amdgpu_discovery.c."""
    queues = kfd[:kfd.find("kgd2kfd_probe")]
    found = {f"CHIP_{name}": ip for ip, name in re.findall(r"case (IP_VERSION\([\d, ]+\)):\s*/\* ([A-Z]\w+) \*/",
                                                           queues[queues.find("event_interrupt_class_v9") - 3000:])}
    pattern = r"case (CHIP_\w+):|ip_versions\[GC_HWIP\]\[0\] = (IP_VERSION\([\d, ]+\))"
    chip = None
    for label, ip in re.findall(pattern, discovery):
        chip = label or chip
        if ip and chip:
            found[chip] = ip
    return found


def gfx_of_chips(linux):
    """Returns {CHIP_X: gfx target} for each chip whose target is in the kernel's source."""
    kfd = linux.read(DRM + "amd/amdkfd/kfd_device.c")
    targets = gfx_by_ip(kfd)
    chips = {chip: gfx for chip, gfx in targets.items() if chip.startswith("CHIP_")}
    by_ip = chips_by_ip(kfd, linux.read(DRM + "amd/amdgpu/amdgpu_discovery.c"))
    chips.update({chip: targets[ip] for chip, ip in by_ip.items() if ip in targets})
    return chips


def unsupported_amd(linux):
    """Returns the ids that amdgpu rejects, which are all older chips, back to mach64."""
    text = c_tables.without_comments(linux.read(DRIVERS["amdgpu"][0]))
    start = text.find("amdgpu_unsupported_pciidlist[]")
    return {int(word, 16) for word in re.findall(r"0x([0-9A-Fa-f]{4})", text[start:text.find("};", start)])}


def nouveau_members(linux):
    """Returns {chip name: members} of the chips that nouveau knows: {"GP108": {"pci", "nvdec", ...}}."""
    text = linux.read(NOUVEAU)
    return {name: set(re.findall(r"^\s*\.(\w+)", body, re.M)) for name, body
            in re.findall(r"^nv\w+_chipset = \{\s*\.name = \"([^\"]+)\",(.*?)^\};", text, re.M | re.S)}


def nouveau_chipsets(linux):
    """Returns {chip name: number} of the chips that nouveau knows; a name may contain two chips ("MCP77/MCP78")."""
    text = linux.read(NOUVEAU)
    numbers = dict((name, int(number, 16)) for number, name
                   in re.findall(r"case 0x(\w+): device->chip = &(\w+);", text))
    found = {}
    for struct, names in re.findall(r"^(nv\w+_chipset) = \{\s*\.name = \"([^\"]+)\"", text, re.M):
        found.update({name: numbers[struct] for name in names.split("/") if struct in numbers})
    return found
