# SPDX-License-Identifier: Apache-2.0
"""Simulates machines with several GPUs. A fake driver on top of Mesa's lavapipe reports the configured devices, and computes with
lavapipe.

A simulated machine consists of a folder with share/vulkan/icd.d, which a loader finds through XDG_DATA_DIRS, and a daemon that probes the drivers in
this folder.
"""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import time
import uuid

import roots

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
DRIVER = BIN.parent / "fakes/vulkan/told/told.so"
LAVAPIPE = pathlib.Path("/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so")
GIB = 1 << 30
INTEGRATED, DISCRETE, CPU = 1, 2, 4
NVIDIA, RADV, ANV, LLVMPIPE = 4, 3, 6, 13  # VkDriverId

# Features that Dawn requires and lavapipe 22.3 lacks.
FEATURES = ("robustBufferAccess", "fullDrawIndexUint32", "imageCubeArray", "independentBlend", "sampleRateShading", "depthBiasClamp",
            "textureCompressionBC", "fragmentStoresAndAtomics", "shaderUniformBufferArrayDynamicIndexing",
            "shaderSampledImageArrayDynamicIndexing", "shaderStorageBufferArrayDynamicIndexing",
            "shaderStorageImageArrayDynamicIndexing")


def gpu(key, name, vendor, device, kind, address=None, driver=NVIDIA, memory=8 * GIB, **answers):
    """Returns a device. `answers` uses the names of members in the Vulkan specification; `key` is the device's name in the driver's log."""
    bus, slot = (int(part, 16) for part in (address or "0:0").split(":"))
    said = {"deviceName": name, "vendorID": vendor, "deviceID": device, "deviceType": kind, "driverID": driver,
            "apiVersion": (1 << 22) | (3 << 12) | 239, "driverName": "a driver that is told",
            "pciDomain": 0, "pciBus": bus, "pciDevice": slot, "pciFunction": 0,
            "deviceUUID": list(uuid.uuid5(uuid.NAMESPACE_OID, key).bytes),
            "driverUUID": list(uuid.uuid5(uuid.NAMESPACE_OID, str(driver)).bytes),
            **dict.fromkeys(FEATURES, True), **answers}
    heaps = [{"size": memory, "local": True, "visible": kind != DISCRETE}]
    heaps += [{"size": 16 * GIB, "local": False}] if kind == DISCRETE else []
    return {"id": key, "answers": said, "heaps": heaps, "extensions": {"VK_EXT_pci_bus_info": bool(address)}}


class Machine:
    """A machine with drivers, each of which has a name and GPUs. With `root`, programs run in the root folder of another Debian release, in which
    the folders in `needs` are visible."""

    def __init__(self, folder, drivers, root=None, needs=(), **fail):
        self.folder = pathlib.Path(folder)
        self.root, self.needs = root, needs
        self.log = self.folder / "log"
        self.manifests = self.folder / "share/vulkan/icd.d"
        self.manifests.mkdir(parents=True)
        layers = pathlib.Path("/usr/share/vulkan/implicit_layer.d")
        if layers.is_dir():
            (self.manifests.parent / "implicit_layer.d").symlink_to(layers)
        for name, devices in drivers.items():
            self.tell(name, devices, **fail)
        self.daemon = None

    def tell(self, name, devices, **fail):
        folder = self.folder / "drivers" / name
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "told.so").exists():
            shutil.copy(DRIVER, folder)
        document = {"devices": devices, "log": str(self.log), "fail": fail}
        (folder / "told.json").write_text(json.dumps(document), encoding="utf-8")
        manifest = {"file_format_version": "1.0.0", "ICD": {"library_path": str(folder / "told.so"), "api_version": "1.3.239"}}
        (self.manifests / f"{name}.json").write_text(json.dumps(manifest), encoding="utf-8")

    # Calls to gpuprobe.

    def __enter__(self):
        for name in ("none", "state"):
            (self.folder / name).mkdir(exist_ok=True)
        self.daemon = subprocess.Popen(
            [BIN / "gpuprobed", "--bus=none", f"--socket={self.folder}/socket", "--no-cache", f"--state-dir={self.folder}/state",
             f"--vulkan-drivers={self.manifests}", f"--opencl-vendors={self.folder}/none", f"--worker={BIN}/gpuprobe-worker"],
            stdin=subprocess.DEVNULL, stderr=(self.folder / "daemon.log").open("w"), cwd=self.folder)
        end = time.monotonic() + 60
        # The socket file appears slightly before the daemon starts to listen on the socket.
        while (done := self.ask("probe")).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise RuntimeError(done.stderr + (self.folder / "daemon.log").read_text())
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait(30)

    def ask(self, *words):
        return subprocess.run([BIN / "gpuprobectl", f"--socket={self.folder}/socket", *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    def report(self):
        return json.loads(self.ask("describe", "-j").stdout)

    def variables(self, *words):
        """Returns the variables that `env` prints, as a dictionary."""
        done = self.ask("env", "-q", *words)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"env {words}: {done.stderr}")
        return dict(word.split("=", 1) for word in shlex.split(done.stdout))

    # Programs on this machine.

    def run(self, command, variables=None, timeout=120):
        """Runs a program. Returns the completed process, and the devices that the process opened and used for computations according to the drivers'
        log."""
        self.log.unlink(missing_ok=True)
        if self.root:
            command = roots.started_in(self.root, [self.folder, *self.needs], command)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VK_", "GGML_", "MESA_", "CUDA_"))}
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                              check=False, cwd=self.folder,
                              env={**kept, "XDG_DATA_DIRS": f"{self.folder}/share", **(variables or {})})
        lines = self.log.read_text(encoding="utf-8").split("\n")[:-1] if self.log.exists() else []
        opened, computed = ({line.split(" ", 1)[1] for line in lines if line.startswith(word)} for word in ("opened ", "computed "))
        return done, opened, computed
