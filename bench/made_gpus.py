# SPDX-License-Identifier: Apache-2.0
"""Simulates a machine with any number of GPUs, which are copies of the recorded H200. A script replaces the worker and prints the recorded answers of
the drivers. The daemon loads these answers from its cache, as it does on a real machine after the first start."""
import json
import pathlib
import sys
import time

from daemons import daemon, socket_beside

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(SOURCE / "tests/integration"), str(SOURCE / "src/python")]
import gpuprobe  # noqa: E402
import told_worker  # noqa: E402

RECORDED = SOURCE / "tests/data/machines/nvidia-h200-1/probes"
PROBES = {"nvml": "nvml", "cuda": "cuda", "vulkan": "vulkan.nvidia_icd", "opencl": "opencl.nvidia"}
GIVE_UP = 60  # seconds


def devices(api, count):
    recorded = json.loads((RECORDED / f"{PROBES[api]}.json").read_text(encoding="utf-8"))["devices"][0]
    for index in range(count):
        own = {"index": index, "pci": f"0000:{0x10 + index:02x}:00.0", "uuid": f"GPU-00000000-0000-4000-8000-{index:012d}"}
        yield recorded | {key: value for key, value in own.items() if recorded.get(key) is not None}


def options(binaries, folder, address, count):
    """Returns the options for a daemon that has `count` GPUs in its cache."""
    pathlib.Path(folder).chmod(0o755)  # workers must be able to read the folder
    folder = pathlib.Path(folder, f"{count}-gpus")
    for name, file, text in (("vulkan", "nvidia_icd.json", '{"ICD":{"library_path":"libGLX_nvidia.so.0"}}'),
                             ("opencl", "nvidia.icd", "libnvidia-opencl.so.1")):
        (folder / name).mkdir(parents=True)
        (folder / name / file).write_text(text, encoding="utf-8")
    worker = told_worker.install(folder, {f"{api} query": {"devices": list(devices(api, count))} for api in PROBES} if count else {})
    given = [f"--worker={worker}", f"--vulkan-drivers={folder}/vulkan", f"--opencl-vendors={folder}/opencl", f"--cache-dir={folder}/cache",
             f"--state-dir={folder}/state"]
    with daemon(binaries, address, *given), gpuprobe.Client(socket_beside(address), daemon_only=True) as client:
        late = time.monotonic() + GIVE_UP
        while client.describe()["state"] != "ready" and time.monotonic() < late:
            time.sleep(0.1)
        time.sleep(1)  # the daemon writes its cache after a delay
    with daemon(binaries, address, *given), gpuprobe.Client(socket_beside(address), daemon_only=True) as client:
        report = client.describe()
        if report["source"] != "cache" or len(report["gpus"]) < count:  # the report also contains this machine's own GPUs
            raise RuntimeError(f"{len(report['gpus'])} GPUs of {count}, from {report['source']}: can workers read {SOURCE}? They cannot read /tmp")
    return given


def use(address):
    """Calls each method of the daemon once for each application and GPU."""
    with gpuprobe.Client(socket_beside(address), daemon_only=True) as client:
        gpus = [gpu["id"] for gpu in client.gpus()["gpus"]]
        for application in client.call("ListApplications")["applications"]:
            if application["backends"]:
                try:
                    client.select(application["name"], explain=True)
                except gpuprobe.NoMatch:
                    pass
            if application["variants"]:
                client.recommend(application["name"], explain=True)
        for gpu in gpus:
            client.memory(gpu)
        client.describe()
        client.doctor()
        client.plan(1 << 33)
        client.query("driver>=550")
        for method in ("ListHardwareDevices", "ListQuarantine", "ListOverrides"):
            client.call(method)
