# SPDX-License-Identifier: Apache-2.0
"""Converts merge puzzles: records of several APIs, with the number of physical GPUs that they describe."""

import json

from .machine import Machine, case_source, gpu

MIB = 1024 * 1024
MANIFESTS = {"amdvlk": "amd_icd64", "radv": "radeon_icd", "anv": "intel_icd"}  # the file names in the packages


def convert(corpus, cases):
    yield jetson(next(case for case in cases if case["id"] == "yzma-bench"))
    with open(f"{corpus}/identity/cases.json", encoding="utf-8") as file:
        puzzles = {case["id"]: case for case in json.load(file)["cases"]}
    for identifier, make in (("hc-4224", hashcat), ("rocm-gentoo-1650", gentoo), ("vk-rx480-two", two_drivers),
                             ("llamacpp-6166", two_cards), ("yzma-4070", laptop)):
        machine = started(f"identity-{identifier}", puzzles[identifier])
        make(machine, puzzles[identifier]["records"])
        yield finished(machine)
    for suffix, record in zip(("amdvlk", "radv", "anv"), puzzles["amdpro-uuid"]["records"]):
        machine = started(f"identity-amdpro-uuid-{suffix}", puzzles["amdpro-uuid"])
        positional_uuid(machine, record, suffix)
        yield finished(machine)
    with open(f"{corpus}/selection/cases.json", encoding="utf-8") as file:
        cases = {case["id"]: case for case in json.load(file)["cases"]}
    for identifier, make in MERGES.items():
        machine = started(f"merge-{identifier}", cases[identifier])
        make(machine, cases[identifier]["given"])
        yield finished(machine)


def started(name, case):
    where = case["stated_at"]
    if isinstance(where, dict):
        source = {"repo": where["repo"], "commit": where["commit"], "path": where["path"], "licence": where["licence"]}
        where = f"{where['path']}:{where['line']}"
    else:
        source = {"repo": None, "commit": None, "path": where, "licence": "facts quoted from a public discussion"}
    machine = Machine(name, source)
    machine.stated(json.dumps(case.get("expect", case.get("gist")), ensure_ascii=False), where)
    if case.get("gist") or case.get("note"):
        machine.stated(case.get("gist") or case.get("note"), where)
    return machine


def finished(machine):
    machine.expected.setdefault("software", [])
    machine.expected.setdefault("accelerators", [])
    if not machine.files:
        machine.converted("The records say nothing of sysfs: root/ is empty.")
    return machine


def record(index, name, **more):
    facts = {"index": index, "name": name, "vendor_id": None, "device_id": None, "pci": None, "uuid": None, "drm": None,
             "type": None, "memory": None}
    facts.update(more)
    return facts


def size(total):
    return {"total": total, "free": None}


# -- puzzles from issue threads


def hashcat(machine, records):
    hip, opencl = records
    machine.probe("hip", [record(0, hip["name"], pci=hip["pci"], memory=size(hip["mem_mb"] * MIB))])
    machine.probe("opencl", [record(0, opencl["name"], pci=opencl["pci"], memory=size(opencl["mem_mb"] * MIB))])
    machine.converted("hashcat numbers devices from 1 over all APIs; `index` counts from 0 in each. The addresses are as printed: "
                      "OpenCL's has no domain.")
    machine.expected["gpus"] = [gpu("0000:43:00.0", name="AMD Radeon RX 6900 XT",
                                    apis={"hip": {"outcome": "answered"}, "opencl": {"outcome": "answered"}})]


def gentoo(machine, records):
    cuda, amd, nvidia, cpu = records
    machine.probe("cuda", [record(0, cuda["name"], memory=size(cuda["mem_mb"] * MIB))])
    machine.probe("opencl", [record(0, amd["name"], memory=size(amd["mem_mb"] * MIB), platform_name=amd["platform"],
                                    vendor_id="1002")], driver="amd")
    machine.probe("opencl", [record(0, nvidia["name"], memory=size(nvidia["mem_mb"] * MIB), platform_name=nvidia["platform"],
                                    vendor_id="10de")], driver="nvidia")
    machine.probe("opencl", [record(0, cpu["name"], type="cpu", platform_name=cpu["platform"])], driver="pocl")
    machine.converted("vendor_id follows from the platform: CL_DEVICE_VENDOR_ID is a query that each of them answers.")
    machine.expected["gpus"] = [
        {"apis": {"cuda": {"outcome": "answered"}, "opencl": {"outcome": "answered"}}},
        {"apis": {"opencl": {"outcome": "answered", "device": {"name": "gfx902"}}}}]
    machine.expected["software"] = [{"api": "opencl", "name": f"pocl ({cpu['name']})", "device": {"name": cpu["name"]}}]


def two_drivers(machine, records):
    for entry in records:
        machine.probe("vulkan", [record(0, entry["name"], vendor_id="1002")], driver=MANIFESTS[entry["icd"]])
    machine.converted("vendor_id is added: both drivers serve AMD alone.")
    machine.expected["gpus"] = [{"apis": {"vulkan": {"outcome": "answered"}}}]


def two_cards(machine, records):
    machine.probe("vulkan", [record(entry["vk"], entry["name"], vendor_id="1002", device_id="744c", type="discrete")
                             for entry in records], driver="radeon_icd")
    machine.converted("The thread says that vendor:device of both are equal; 1002:744c is the RX 7900 XTX's (pci.ids).")
    view = {"kind": "discrete", "name": "Radeon RX 7900 XTX", "apis": {"vulkan": {"outcome": "answered"}}}
    machine.expected["gpus"] = [view, view]


def laptop(machine, records):
    nvml, intel, nvidia = records
    for address, entry, driver in (("0000:00:02.0", intel, "i915"), ("0000:01:00.0", nvidia, "nvidia")):
        vendor, device = entry["id"].split(":")
        machine.pci_device(address)
        machine.pci_ids(address, "030000", vendor, device)
        machine.driver(address, driver)
    machine.text("sys/module/nvidia/version", nvml["driver"] + "\n")
    machine.nvidia_nodes()
    machine.probe("nvml", [record(0, nvml["name"], pci=nvml["pci"], memory=size(nvml["mem_mib"] * MIB))],
                  runtime={"driver_version": nvml["driver"], "cuda_version": nvml["cuda"]})
    for index, entry, driver in ((0, intel, "intel_icd"), (1, nvidia, "nvidia_icd")):
        vendor, device = entry["id"].split(":")
        machine.probe("vulkan", [record(index, None, vendor_id=vendor, device_id=device, uuid=entry["deviceUUID"],
                                        type=entry["type"])], driver=driver)
    machine.converted("The tree has the two functions that the outputs name: the NVIDIA one at nvidia-smi's address, the Intel "
                      "one at the position that its deviceUUID encodes (bus 0, device 2, function 0). Class and drivers follow "
                      "from both being used; neither Vulkan record has an address of its own.")
    machine.expected["gpus"] = [
        gpu("0000:00:02.0", kind="integrated", vendor="intel",
            apis={"vulkan": {"outcome": "answered", "device": {"uuid": intel["deviceUUID"]}}}),
        gpu("0000:01:00.0", kind="discrete", vendor="nvidia",
            memory={"kind": "dedicated", "physical": nvml["mem_mib"] * MIB},
            apis={"vulkan": {"outcome": "answered", "device": {"uuid": nvidia["deviceUUID"]}},
                  "nvml": {"outcome": "answered"}})]


def positional_uuid(machine, entry, suffix):
    raw = entry["deviceUUID"]
    text = raw if isinstance(raw, str) else "00000000-0700-0000-0000-000000000000"
    facts = record(0, entry["name"], uuid=text, pci=entry.get("pci"))
    machine.probe("vulkan", [facts], driver=MANIFESTS[suffix])
    machine.converted("One of three outputs of three machines that the puzzle sets side by side.")
    expected = {"name": entry["name"].split(" (RADV")[0], "identity": {"nvidia_uuid": None, "vulkan_device_uuid": text},
                "apis": {"vulkan": {"outcome": "answered"}}}
    if entry.get("pci"):
        expected["id"] = f"pci:{entry['pci']}"
    machine.expected["gpus"] = [expected]


def jetson(case):
    """nvidia-smi and vulkaninfo of an Orin. Neither output contains a PCI id, a memory size or an address."""
    machine = Machine("identity-yzma-orin", case_source(case))
    machine.stated("one GPU: Orin (nvgpu), driver 540.5.0, CUDA 12.6; Vulkan calls it integrated", "BENCHMARKS.md:136-275")
    machine.host["arch"] = "aarch64"
    machine.probe("nvml", [record(0, "Orin (nvgpu)")], runtime={"driver_version": "540.5.0", "cuda_version": "12.6"})
    machine.probe("vulkan", [record(
        0, "NVIDIA Tegra Orin (nvgpu)", vendor_id="10de", type="integrated", uuid="1388f9e0-987e-54a0-908f-6a30d8fd5f29",
        driver_id="nvidia-proprietary", driver_name="NVIDIA", driver_info="540.5.0", api_version="1.3.251")], driver="nvidia_icd")
    machine.converted("nvidia-smi prints N/A for bus and memory and no UUID, so those are null. vulkaninfo's deviceID 0x97ba03d7 is no "
                      "PCI id: null.")
    machine.expected = {"gpus": [{"kind": "integrated", "vendor": "nvidia", "memory": {"physical": None},
                                  "apis": {"nvml": {"outcome": "answered"}, "vulkan": {"outcome": "answered"}}}]}
    return finished(machine)


# -- puzzles from other projects' tests


def ollama_weak(machine, given, other_vendor=False):
    """A record with an address, and a Vulkan record without an address."""
    first, second = given["a"], given["b"]
    api = {"CUDA": "cuda", "ROCm": "hip"}[first["api"]]
    vendor = {"cuda": "10de", "hip": "1002"}[api]
    machine.probe(api, [record(0, first["name"], pci=first["pci"], memory=size(first["total"]), vendor_id=vendor)])
    machine.probe("vulkan", [record(0, second["name"], memory=size(second["total"]),
                                    vendor_id="8086" if other_vendor else vendor)])
    machine.converted("vendor_id is added to the records: each of these APIs reports it.")
    known = gpu(first["pci"], apis={api: {"outcome": "answered"}})
    if other_vendor:
        machine.expected["gpus"] = [known, {"name": second["name"], "apis": {"vulkan": {"outcome": "answered"}}}]
        return
    known["apis"]["vulkan"] = {"outcome": "answered"}
    machine.expected["gpus"] = [known]


def ollama_different(machine, given):
    ollama_weak(machine, given, other_vendor=True)


def ollama_case(machine, given):
    """Two drivers of the same API report the same address in different spellings."""
    for name in ("a", "b"):
        machine.probe("opencl", [record(0, None, pci=given[name]["pci"], vendor_id="1002")], driver=name)
    machine.converted("Both records are ROCm's; two drivers of OpenCL stand for them, as one API lists a GPU once.")
    machine.expected["gpus"] = [gpu("0000:c3:00.0", apis={"opencl": {"outcome": "answered"}})]


def vulkan_extra(machine, given):
    machine.probe("vulkan", [record(0, given["probed"][0], vendor_id="10de", type="discrete", driver_id="nvidia-proprietary")],
                  driver="nvidia")
    machine.probe("vulkan", [record(0, given["probed"][1], vendor_id="8086", type="integrated",
                                    driver_id="intel-open-source-mesa")], driver="intel_icd")
    machine.probe("vulkan", [record(0, given["probed"][4], type="cpu", driver_id="mesa-llvmpipe")], driver="lvp_icd")
    machine.converted("The two `Microsoft Direct3D12` records are left out: they need an adapter LUID to be placed, which the "
                      "source has not.")
    machine.expected["gpus"] = [{"name": given["probed"][0], "kind": "discrete", "vendor": "nvidia"},
                                {"name": given["probed"][1], "kind": "integrated", "vendor": "intel"}]
    machine.expected["software"] = [{"api": "vulkan", "name": given["probed"][4]}]


def dual_icd(machine, given):
    for driver, entry in zip(("intel", "pocl"), given["clinfo"]):
        machine.probe("opencl", [record(0, entry["name"], vendor_id=f"{entry['CL_DEVICE_VENDOR_ID']:04x}",
                                        pci=entry["CL_DEVICE_PCI_BUS_INFO_KHR"], memory=size(entry["CL_DEVICE_GLOBAL_MEM_SIZE"]))],
                      driver=driver)
    total = max(entry["CL_DEVICE_GLOBAL_MEM_SIZE"] for entry in given["clinfo"])
    machine.expected["software"] = [{"api": "opencl", "name": f"pocl ({given['clinfo'][1]['name']})"}]
    machine.expected["gpus"] = [gpu("0000:03:00.0", vendor="intel", apis={"opencl": {"outcome": "answered"}},
                                    memory={"evidence": {"_contains": [{"source": "opencl", "bytes": total}]}})]


def opencl_list(machine, given):
    """Adds the devices in LocalAI's clinfo outputs, each of which describes a single platform."""
    devices = []
    for index, entry in enumerate(given["clinfo"]):
        kind = {True: "integrated", False: "discrete"}.get(entry.get("HOST_UNIFIED"))
        if entry.get("type") == "CL_DEVICE_TYPE_CPU":
            kind = "cpu"
        vendor = entry.get("CL_DEVICE_VENDOR_ID")
        pci = entry.get("pci") or entry.get("CL_DEVICE_PCI_BUS_INFO_KHR")
        devices.append(record(index, entry["name"], pci=pci, type=kind, memory=size(entry["CL_DEVICE_GLOBAL_MEM_SIZE"]),
                              vendor_id=f"{vendor:04x}" if vendor else None))
    machine.probe("opencl", devices)
    return devices


def opencl_cpu(machine, given):
    devices = opencl_list(machine, given)
    machine.expected["gpus"] = []
    machine.expected["software"] = [{"api": "opencl", "name": devices[0]["name"]}]


def opencl_unknown(machine, given):
    opencl_list(machine, given)
    machine.expected["gpus"] = [{"name": "Some Accelerator GPU", "vendor": None, "apis": {"opencl": {"outcome": "answered"}}}]


def opencl_nvidia(machine, given):
    opencl_list(machine, given)[0]["vendor_id"] = "10de"
    machine.converted("vendor_id is NVIDIA's, as the CL_DEVICE_*_NV queries answer on its driver alone; the address is spelled as "
                      "clinfo prints it.")
    machine.expected["gpus"] = [gpu("0000:01:00.0", vendor="nvidia", name="NVIDIA GeForce RTX 5070 Ti", memory={
        "evidence": {"_contains": [{"source": "opencl", "bytes": given["clinfo"][0]["CL_DEVICE_GLOBAL_MEM_SIZE"]}]}})]


def opencl_unified(machine, given):
    opencl_list(machine, given)
    machine.converted("vendor_id is not in the test's text; type follows from CL_DEVICE_HOST_UNIFIED_MEMORY.")
    machine.expected["gpus"] = [
        gpu("0000:03:00.0", kind="discrete", memory={"kind": "dedicated"}),
        gpu("0000:00:02.0", kind="integrated", memory={"kind": "unified"})]


def arc_beside_bmc(machine, given):
    """A BMC's display chip and an Arc GPU. card1-DP-1 is a connector of the Arc GPU, with a misleading address."""
    for entry, device, driver in zip(given["drm"], ("2000", "56a0"), ("ast", "i915")):
        machine.pci_device(entry["pci"])
        machine.pci_ids(entry["pci"], "030000", entry["vendor"][2:], device)
        machine.driver(entry["pci"], driver)
        machine.drm_node(entry["pci"], entry["card"])
    arc, connector = given["drm"][1:]
    machine.drm_node(arc["pci"], "renderD128")
    path = f"sys/devices/pci0000:03/{arc['pci']}/drm/card1/{connector['card']}"
    machine.text(f"{path}/status", "connected\n")
    machine.link(f"{path}/device", f"sys/devices/pci0000:03/{arc['pci']}/drm/card1")
    machine.link(f"sys/class/drm/{connector['card']}", path)
    machine.converted("Device ids, class, drivers and the render node are not in the test: 1a03:2000 with ast, 8086:56a0 (Arc "
                      "A770) with i915. The connector sits below its card, as the kernel has it.")
    machine.expected["gpus"] = [gpu("0000:03:00.0", kind="discrete", vendor="intel"),
                                gpu("0000:04:00.0", kind="display-only", vendor="aspeed")]


def rocm_remap(machine, given):
    """KFD and ROCm list the GPUs in different orders, so only the address shows which records belong together."""
    devices = []
    for index, (entry, gfx) in enumerate(zip(reversed(given["kfd"]), ("gfx1200", "gfx1100"))):
        devices.append(record(index, None, pci=entry["pci"], vendor_id="1002", gfx_target=gfx, memory=size(entry["vram"])))
    machine.kfd_link()
    for entry in given["kfd"]:
        location = int(entry["pci"][5:7], 16) << 8
        gfx = {"gfx1100": 110000, "gfx1200": 120000}[entry["gfx"]]
        base = f"sys/devices/virtual/kfd/kfd/topology/nodes/{entry['node']}"
        machine.text(f"{base}/properties", f"cpu_cores_count 0\nsimd_count 96\ngfx_target_version {gfx}\nvendor_id 4098\n"
                     f"device_id 29772\nlocation_id {location}\ndomain 0\ndrm_render_minor {entry['render']}\nunique_id 0\n")
        machine.text(f"{base}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {entry['vram']}\n")
        machine.pci_device(entry["pci"])
        machine.pci_ids(entry["pci"], "030000", "1002", "744c")
        machine.driver(entry["pci"], "amdgpu")
        machine.drm_node(entry["pci"], f"renderD{entry['render']}")
    machine.probe("hip", devices)
    machine.converted("device_id, class and simd_count are not in the test: 744c, 0x030000 and 96 are put in. HIP reports the "
                      "address of each device, so ROCm0 is the second KFD node.")
    machine.expected["gpus"] = [
        gpu("0000:c3:00.0", architecture={"gfx_target": "gfx1200"}, identity={"drm": {"render": "226:129"}},
            apis={"hip": {"outcome": "answered", "index": 0}}),
        gpu("0000:e3:00.0", architecture={"gfx_target": "gfx1100"}, identity={"drm": {"render": "226:128"}},
            apis={"hip": {"outcome": "answered", "index": 1}})]


MERGES = {
    "ollama-merge-1": ollama_weak, "ollama-merge-2": ollama_weak, "ollama-merge-3": ollama_different,
    "ollama-merge-6": ollama_case, "ollama-vk-extra": vulkan_extra, "ollama-rocm-remap": rocm_remap,
    "localai-cl-dualicd": dual_icd, "localai-cl-cpu": opencl_cpu, "localai-cl-nobdf": opencl_unknown,
    "localai-cl-nv": opencl_nvidia, "localai-cl-igpu": opencl_unified, "localai-sysfs-arc-bmc": arc_beside_bmc,
}
