# SPDX-License-Identifier: Apache-2.0
"""Makes captures of simulated machines, which tests replay. A capture contains files of the kernel and the answers of each driver."""
import json
import os
import pathlib

GB = 10**9
GIB = 2**30
# {compute capability: name of a GPU as NVIDIA's driver reports it}. gpuprobe derives the product line from the
# name.
NVIDIA_NAMES = {"12.0": "NVIDIA GeForce RTX 5090", "9.0": "NVIDIA H100 80GB HBM3", "8.9": "NVIDIA GeForce RTX 4090", "8.6": "NVIDIA GeForce RTX 3090",
                "8.0": "NVIDIA A100-SXM4-80GB", "7.5": "Tesla T4", "7.0": "Tesla V100-SXM2-32GB", "6.1": "NVIDIA GeForce GTX 1080",
                "3.7": "Tesla K80"}
# The CUDA version of each release of the driver. Source: data/rules/cuda_driver.json.
CUDA_OF_DRIVER = {"470": "11.4", "525": "12.0", "535": "12.2", "550": "12.4", "570": "12.8", "580": "13.0"}
# The libraries that programs for the oneAPI runtime 2025 need.
ONEAPI = ("libsycl.so.8", "libsvml.so", "libimf.so", "libintlc.so.5")
VULKAN_QUEUES = [{"flags": ["graphics", "compute", "transfer"], "count": 1, "timestamp_bits": 64}]


def node(major, minor, group="render", accessible=True):
    return {"major": major, "minor": minor, "mode": 0o660, "uid": 0, "gid": 105, "group": group, "accessible": accessible}


def video_of(formats):
    """Returns the fact `video` for formats such as "decode h264-high". "decode hevc-main10/10" has 10 bits per sample."""
    return [{"direction": direction, "codec": word.split("-")[0], "profile": word.partition("-")[2].partition("/")[0] or None,
             "bits": int(word.partition("/")[2] or 8), "chroma": "4:2:0", "max_width": 4096, "max_height": 4096, "name": word}
            for direction, word in map(str.split, formats)]


class Machine:
    """Describes a simulated machine, which has no GPU at first. The library of an API is missing until a GPU that uses this API is added."""

    def __init__(self, arch="x86_64", libc="glibc", libc_version="2.36", features=("avx", "avx2"), level="x86-64-v3", os_name="linux",
                 libraries=()):
        self.host = {
            "os": os_name,
            "arch": arch,
            "kernel": "6.8.0-45-generic",
            "libc": {"name": libc, "version": libc_version},
            "cpu": {"model": "made up", "level": level if arch == "x86_64" else None, "features": list(features), "cores": 8},
            "memory": {"total": 64 * GIB, "available": 48 * GIB},
            "libraries": sorted(libraries),
            "container": None,
            "virtualization": None,
            "wsl": False,
        }
        self.files = {}
        self.links = {}
        self.nodes = {}
        self.probes = {name: {"outcome": "absent"} for name in ("cuda", "hip", "level_zero", "nvml", "opencl", "vulkan")}
        self.cards = 0

    # Parts of every GPU -------------------------------------------------------

    def function(self, address, vendor, device, pci_class, driver=None):
        folder = f"sys/bus/pci/devices/{address}"
        self.files[f"{folder}/class"] = f"0x{pci_class}00\n"
        self.files[f"{folder}/vendor"] = f"0x{vendor}\n"
        self.files[f"{folder}/device"] = f"0x{device}\n"
        self.files[f"{folder}/modalias"] = f"pci:v0000{vendor.upper()}d0000{device.upper()}sv00000000sd00000000\n"
        if driver:
            self.files[f"sys/bus/pci/drivers/{driver}/module"] = ""
            self.links[f"{folder}/driver"] = f"../../drivers/{driver}"
        return folder

    def said(self, api, device, driver=None, **runtime):
        """Adds a device to the answer of an API. `driver` is the name of the driver's manifest."""
        key = f"{api}.{driver}" if driver else api
        if driver:
            self.probes.pop(api, None)
        probe = self.probes.get(key)
        if not probe or probe["outcome"] != "answered":
            folder = {"vulkan": "/usr/share/vulkan/icd.d/{}.json", "opencl": "/etc/OpenCL/vendors/{}.icd"}.get(api, "{}")
            probe = self.probes[key] = {"api": api, "driver": folder.format(driver) if driver else "", "outcome": "answered", "devices": [], "runtime": runtime}
        probe["devices"].append({"index": len(probe["devices"]), **device})

    def brings(self, *libraries):
        self.host["libraries"] = sorted({*self.host["libraries"], *libraries})

    def fails(self, api, outcome, **more):
        self.probes[api] = {"outcome": outcome, **more}

    def vulkan(self, manifest, name, vendor, device, address, kind, memory, driver_id, webgpu="core", **more):
        self.brings("libvulkan.so.1")
        self.said(
            "vulkan",
            {
                "name": name,
                "vendor_id": vendor,
                "device_id": device,
                "pci": address,
                "type": kind,
                "memory": {"total": memory, "free": memory},
                "api_version": "1.3.277",
                "driver_id": driver_id,
                "software": kind == "cpu",
                "queues": VULKAN_QUEUES,
                "webgpu": webgpu,
                "max_buffer_size": 2 * GIB,
                "max_storage_buffer_range": GIB,
                "shader_float16": True,
                "features": {"shaderFloat16": True, "storageBuffer16BitAccess": True},
                **more,
            },
            driver=manifest,
            loader="libvulkan.so.1",
            version="1.3.277",
        )

    # GPUs by vendor ----------------------------------------------------------

    def nvidia(self, address="0000:01:00.0", device="2684", driver="580.65.06", capability="8.9", memory=24 * GB, pci_class="0300",
               cuda=True, vulkan=True, nvml=True, kernel="nvidia", number=0):
        self.function(address, "10de", device, pci_class, kernel)
        uuid = f"GPU-00000000-0000-4000-8000-00000000000{number + 1}"
        if kernel == "nvidia":
            self.files["sys/module/nvidia/version"] = driver + "\n"
            self.files["proc/driver/nvidia/version"] = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Mon\n"
            for name, minor in ((f"/dev/nvidia{number}", number), ("/dev/nvidiactl", 255)):
                self.nodes[name] = node(195, minor, "root")
            self.nodes["/dev/nvidia-uvm"] = node(511, 0, "root")
        about = {"name": NVIDIA_NAMES.get(capability, f"NVIDIA GPU {device}"), "vendor_id": "10de", "pci": address, "uuid": uuid}
        if nvml:
            self.said("nvml", {**about, "memory": {"total": memory, "free": memory}, "compute_capability": capability},
                      loader="libnvidia-ml.so.1", driver_version=driver)
        if cuda:
            self.said("cuda", {**about, "type": "discrete", "memory": {"total": memory, "free": None}, "compute_capability": capability,
                               "compute_mode": 0}, loader="libcuda.so.1", version=CUDA_OF_DRIVER[driver.split(".")[0]])
        if vulkan:
            self.vulkan("nvidia_icd", about["name"], "10de", device, address, "discrete", memory, "nvidia-proprietary")
        return self

    def amd(self, address="0000:03:00.0", device="744c", gfx="gfx1100", memory=24 * GB, pci_class="0300", hip=True, vulkan=True,
            integrated=False, unique_id="00c0ffee00c0ffee"):
        folder = self.function(address, "1002", device, pci_class, "amdgpu")
        self.files[f"{folder}/mem_info_vram_total"] = f"{512 * 2**20 if integrated else memory}\n"
        self.files[f"{folder}/mem_info_gtt_total"] = f"{memory}\n"
        if not integrated:
            self.files[f"{folder}/board_info"] = "type: cem\n"
        self.nodes["/dev/kfd"] = node(510, 0)
        kind = "integrated" if integrated else "discrete"
        about = {"name": f"AMD GPU {device}", "vendor_id": "1002", "device_id": device, "pci": address, "type": kind,
                 "memory": {"total": memory, "free": memory}}
        if hip:
            self.said("hip", {**about, "uuid": f"GPU-{unique_id}", "gfx_target": gfx}, loader="libhsa-runtime64.so.1", version="1.14",
                      rocm_version="7.2.0")
            self.brings("libamdhip64.so.7", "libhipblas.so.3", "librocblas.so.5")
        if vulkan:
            self.vulkan("radeon_icd.x86_64", about["name"], "1002", device, address, kind, memory, "mesa-radv")
        return self

    def intel(self, address="0000:00:02.0", device="46a6", memory=12 * GIB, pci_class="0300", vulkan=True, level_zero=False,
              integrated=True):
        self.function(address, "8086", device, pci_class, "i915")
        kind = "integrated" if integrated else "discrete"
        about = {"name": f"Intel GPU {device}", "vendor_id": "8086", "device_id": device, "pci": address, "type": kind,
                 "memory": {"total": memory, "free": memory}}
        if vulkan:
            self.vulkan("intel_icd.x86_64", about["name"], "8086", device, address, kind, memory, "intel-open-source-mesa")
        if level_zero:
            self.said("level_zero", {**about, "device_type": "gpu", "intel_ip": "12.55.8", "api_version": "1.6"}, loader="libze_loader.so.1")
        return self

    def vaapi(self, address, number, driver, *formats, outcome="answered", accessible=True, **more):
        """Adds the render node of the GPU at a PCI address, and the answer of its VA driver, which reports the given formats (see video_of())."""
        folder, name, path = f"sys/bus/pci/devices/{address}", f"renderD{number}", f"/dev/dri/renderD{number}"
        self.files[f"{folder}/drm/{name}/dev"] = f"226:{number}\n"
        self.links[f"{folder}/drm/{name}/device"] = "../.."
        self.links[f"sys/class/drm/{name}"] = f"../../bus/pci/devices/{address}/drm/{name}"
        self.nodes[path] = node(226, number, accessible=accessible)
        self.probes[f"vaapi.{name}"] = {"api": "vaapi", "driver": path, "outcome": outcome, "devices": [], "runtime": {"loader": "libva.so.2"}, **more}
        if outcome == "answered":
            self.probes[f"vaapi.{name}"]["devices"] = [
                {"index": 0, "pci": address, "node": path, "driver_name": driver, "video": video_of(formats)}]
        return self

    def nvcodec(self, *formats, address="0000:01:00.0", missing=(), **device):
        """Adds the GPU at a PCI address to the answer of NVDEC and NVENC. `missing`: libraries that are not installed; if both libraries are missing,
        the API lists no GPU."""
        probe = self.probes.setdefault("nvcodec", {"api": "nvcodec", "driver": "", "outcome": "answered", "devices": [], "runtime": None})
        probe["reasons"] = [{"code": "library-missing", "detail": {"missing": library}} for library in missing]
        if len(missing) == 2:
            probe["outcome"] = "absent"
        else:
            errors = {key: f"{library}: cannot open shared object file" if library in missing else None
                      for key, library in (("decode_error", "libnvcuvid.so.1"), ("encode_error", "libnvidia-encode.so.1"))}
            probe["devices"].append({"index": len(probe["devices"]), "pci": address, "video": video_of(formats), **errors, **device})
        return self

    def opencl_only(self, address="0000:05:00.0"):
        """Adds a GPU whose only driver is an OpenCL driver."""
        self.function(address, "1ed5", "0222", "0300", "mtgpu")
        self.said("opencl", {"name": "MTT S80", "vendor_id": "1ed5", "device_id": "0222", "pci": address, "type": "discrete",
                             "memory": {"total": 16 * GB, "free": None}, "platform_name": "MT OpenCL", "available": True},
                  driver="mt", loader="libOpenCL.so.1")
        return self

    def llvmpipe(self):
        self.vulkan("lvp_icd.x86_64", "llvmpipe (LLVM 15.0.6, 256 bits)", None, None, None, "cpu", 2 * GIB, "mesa-llvmpipe")
        return self

    # -------------------------------------------------------------------------

    def write(self, folder):
        folder = pathlib.Path(folder)
        for path, text in self.files.items():
            place = folder / "root" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        for path, target in self.links.items():
            (folder / "root" / path).parent.mkdir(parents=True, exist_ok=True)
            os.symlink(target, folder / "root" / path)
        (folder / "root").mkdir(parents=True, exist_ok=True)
        (folder / "probes").mkdir()
        (folder / "capture.json").write_text(json.dumps({"schema": 1, "host": self.host}), encoding="utf-8")
        (folder / "nodes.json").write_text(json.dumps(self.nodes), encoding="utf-8")
        for name, probe in self.probes.items():
            (folder / "probes" / f"{name}.json").write_text(json.dumps(probe), encoding="utf-8")
        return folder
