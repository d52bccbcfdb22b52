# SPDX-License-Identifier: Apache-2.0
"""Creates a captured machine with any number of GPUs from the recorded H200, and makes calls through each interface.

Makes calls about each GPU over the bus and over the socket. After these calls, tests/integration/interfaces makes the same calls through the socket,
the C library, the Python and Node.js packages, D-Bus and gpuprobectl, and compares the answers byte by byte.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from figures import Figures, quantile
from patient import Patient
from peer import BUS, NAME, ROOT, Gone, Refused
from varlink import Varlink

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORDED = SOURCE / "tests/data/machines/nvidia-h200-1"
ADDRESS, UUID = "0000:00:06.0", "00000000-0000-4000-8000-000000000001"
INTEGRATION = SOURCE / "tests/integration"


def address_of(place):
    return f"0000:{0x10 + place:02x}:00.0"


def uuid_of(place):
    return f"00000000-0000-4000-8000-{place + 1:012d}"


def devices(recorded, count):
    """Yields the record of the H200 for each GPU, preceded by the devices that are not GPUs."""
    one = [device for device in recorded if device["pci"] == ADDRESS]
    yield from (device for device in recorded if device["pci"] != ADDRESS)
    for device in one:
        for place in range(count):
            own = {"index": place, "minor_number": place, "pci": address_of(place),
                   "uuid": (device.get("uuid") or "").replace(UUID, uuid_of(place))}
            yield device | {key: value for key, value in own.items() if device.get(key) is not None}


def make(folder, count):
    """Creates the capture of a machine and returns the folder of the capture."""
    machine = pathlib.Path(folder, f"{count}-gpus")
    shutil.copytree(RECORDED, machine, symlinks=True)
    for file in (machine / "probes").iterdir():
        probe = json.loads(file.read_text(encoding="utf-8"))
        probe["devices"] = list(devices(probe["devices"], count))
        file.write_text(json.dumps(probe), encoding="utf-8")
    listed, functions = machine / "root/sys/bus/pci/devices", machine / "root/sys/devices/pci0000:00"
    told, nodes = machine / "root/proc/driver/nvidia/gpus", json.loads((machine / "nodes.json").read_text(encoding="utf-8"))
    information = (told / ADDRESS / "information").read_text(encoding="utf-8")
    for place in range(count):
        address = address_of(place)
        shutil.copytree(functions / ADDRESS, functions / address, symlinks=True)
        uevent = functions / address / "uevent"
        uevent.write_text(uevent.read_text(encoding="utf-8").replace(ADDRESS, address), encoding="utf-8")
        (listed / address).symlink_to(f"../../../devices/pci0000:00/{address}")
        (told / address).mkdir()
        text = information.replace(ADDRESS, address).replace(UUID, uuid_of(place))
        (told / address / "information").write_text(re.sub(r"(Device Minor:\s*)0", rf"\g<1>{place}", text), encoding="utf-8")
        nodes[f"/dev/nvidia{place}"] = nodes["/dev/nvidia0"] | {"minor": place}
    (machine / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
    shutil.rmtree(functions / ADDRESS)
    (listed / ADDRESS).unlink()
    shutil.rmtree(told / ADDRESS)
    return machine


class Questions:
    def __init__(self, patient, count, figures):
        self.peer, self.socket, self.count, self.figures, self.waits = patient.connect(), Varlink(patient.socket_path), count, figures, []

    def timed(self, ask, *arguments, **more):
        start = time.monotonic()
        answer = ask(*arguments, **more)
        self.waits.append(time.monotonic() - start)
        self.figures.count += 1
        return answer

    def equal(self, what, found, wanted):
        if found == wanted:
            self.figures.outcomes["right"] += 1
        else:
            self.figures.wrong.append(f"{what}: {str(found)[:300]}, not {str(wanted)[:300]}")

    def lists(self):
        addresses = sorted(address_of(place) for place in range(self.count))
        report = self.timed(self.socket.call, "Describe")
        self.equal("Describe", sorted(gpu["pci"]["address"] for gpu in report["gpus"]), addresses)
        self.equal("names", {gpu["name"] for gpu in report["gpus"]}, {"NVIDIA H200"})
        listed = self.timed(self.socket.call, "ListGpus")["gpus"]
        self.equal("ListGpus", sorted(gpu["id"] for gpu in listed), [f"pci:{address}" for address in addresses])
        paths = self.timed(self.peer.manager, "ListGpus", "a{sv}", [{}])[0]
        objects = self.timed(self.peer.call, NAME, ROOT, BUS + ".ObjectManager", "GetManagedObjects")[0]
        told = {path: found[NAME + ".Gpu"]["PciAddress"] for path, found in objects.items() if NAME + ".Gpu" in found}
        self.equal("GetManagedObjects", sorted(told.values()), addresses)
        self.equal("paths", sorted(paths), sorted(told))
        return {address: path for path, address in told.items()}

    def about(self, place, path):
        """Makes the calls about one GPU over the bus and the socket."""
        gpu, uuid = f"pci:{address_of(place)}", f"GPU-{uuid_of(place)}"
        answer = self.timed(self.socket.call, "Select", request={"gpus": [gpu]})
        self.equal(gpu, (answer["backend"], answer["gpus"]), ("cuda", [gpu]))
        self.equal(f"environment for {gpu}", answer["environment"].get("CUDA_VISIBLE_DEVICES"), uuid)
        answer = self.timed(self.peer.manager, "SelectBackend", "sa{sv}", ["default", {"gpus": ("as", [gpu])}])[0]
        self.equal(f"{gpu} on the bus", (answer["Backend"], answer["Gpus"]), ("cuda", [path]))
        answer = self.timed(self.socket.call, "Select", request={"deny": [gpu], "explain": True})
        allowed = {id for each in answer["candidates"] if each["gpu"] and each["verdict"] != "rejected" for id in (each["gpu"], *each["also"])}
        self.equal(f"without {gpu}", (gpu in allowed, len(allowed)), (False, self.count - 1))
        self.equal(f"memory of {gpu}", self.timed(self.socket.call, "GetMemory", gpu=gpu)["physical"],
                   150754820096)

    def about_all(self):
        answer = self.timed(self.socket.call, "Plan", request={"need_mib": 8192})
        self.equal("Plan", answer.get("fits", True), True)
        recommended = self.timed(self.socket.call, "Recommend", application="torch", request={"explain": True})
        self.figures.outcomes["candidates of Recommend"] = len(recommended["candidates"])
        self.timed(self.socket.call, "Diagnose")

    def close(self):
        self.peer.close()
        self.socket.close()


def ask_every_interface(options, machine, figures):
    """Runs tests/integration/interfaces. Returns the results."""
    folder = pathlib.Path(options.daemon).parent
    if not options.questions or not (folder / "gpuprobectl").exists():
        return
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "unittest", "interfaces_test.Interfaces.test_give_the_same_answers"], cwd=INTEGRATION / "interfaces",
        env={**os.environ, "GPUPROBE_BIN": str(folder), "GPUPROBE_SOURCE": str(SOURCE), "GPUPROBE_FAKES": str(folder.parent / "fakes"),
             "GPUPROBE_INTERFACES": f"{options.questions}:{machine}", "PYTHONPATH": str(INTEGRATION), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False)
    for interface, count in re.findall(r"^\| ([^|]+) \| ([\d,]+) \|", done.stdout, re.MULTILINE):
        figures.outcomes[f"by {interface}"] = int(count.replace(",", ""))
        figures.count += figures.outcomes[f"by {interface}"]
    if done.returncode:
        figures.wrong.append(f"interfaces differ: {done.stderr[-1500:]}")


def run(options):
    """Makes calls about the given number of GPUs and returns the results. After this test, the test --calls uses the captured machine."""
    figures, start = Figures(f"{options.gpus} GPUs"), time.monotonic()
    options.replay = make(options.folder, options.gpus)
    with Patient(options.daemon, "--replay", str(options.replay), socket=True) as patient:
        questions = Questions(patient, options.gpus, figures)
        try:
            paths = questions.lists()
            figures.before(patient)
            for place in range(options.gpus):
                questions.about(place, paths[address_of(place)])
                options.progress(place, options.gpus)
            questions.about_all()
        except (AssertionError, Gone, Refused, TimeoutError, OSError, ValueError, KeyError) as problem:
            figures.wrong.append(f"{type(problem).__name__}: {problem}")
        figures.latency = quantile(questions.waits)
        questions.close()
        figures.deaths = 0 if patient.is_alive() else 1
        figures.after(patient)
    ask_every_interface(options, options.replay, figures)
    figures.seconds = time.monotonic() - start
    return figures
