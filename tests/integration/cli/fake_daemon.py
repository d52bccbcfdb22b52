#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon whose answers a test decides: owns org.gpuprobe.GpuProbe1 on the bus of $FAKE_BUS.

Usage: fake_daemon.py REPORT.json [DECISION.json]

With $FAKE_FREE each GPU answers GetMemory with so many free bytes; without it there are no GPU objects.

It prints "ready" when it owns its name. On standard input it takes one command per line: the path of
another report to serve from then on (with the signals that a daemon sends), or "leave".
"""
import json
import os
import re
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.gpuprobe.GpuProbe1"
ROOT = "/org/gpuprobe/GpuProbe1"
MANAGER = NAME + ".Manager"
PROPERTIES = "org.freedesktop.DBus.Properties"


def path_of(gpu_id):
    return ROOT + "/gpu/" + re.sub("[^A-Za-z0-9]", "_", gpu_id)


def variants(members):
    return dbus.Dictionary(members, signature="sv")


class Refusal(dbus.DBusException):
    def __init__(self, kind, message):
        super().__init__(message, name=f"{NAME}.Error.{kind}")


class Manager(dbus.service.Object):
    def __init__(self, bus, report, decision):
        super().__init__(bus, ROOT)
        self.report = report
        self.decision = decision

    def properties(self):
        return variants(
            {
                "Version": "0.1.0",
                "Features": dbus.Array(["select", "probe"], signature="s"),
                "Generation": dbus.UInt64(self.report["generation"]),
                "State": self.report["state"],
                "DefaultGpu": dbus.ObjectPath("/"),
            }
        )

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, _interface):
        return self.properties()

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return dbus.Dictionary(
            {path_of(gpu["id"]): {NAME + ".Gpu": variants({"Id": gpu["id"]})} for gpu in self.report["gpus"]},
            signature="oa{sa{sv}}",
        )

    @dbus.service.method(MANAGER, out_signature="h")
    def DescribeFd(self):
        file = os.memfd_create("report", os.MFD_CLOEXEC)
        os.write(file, json.dumps(self.report).encode())
        descriptor = dbus.types.UnixFd(file)
        os.close(file)
        return descriptor

    @dbus.service.method(MANAGER, out_signature="as")
    def ListApplications(self):
        return ["default", "tsuku"]

    @dbus.service.method(MANAGER, in_signature="sa{sv}", out_signature="a{sv}")
    def SelectBackend(self, application, request):
        if application not in ("default", "tsuku"):
            raise Refusal("UnknownApplication", f"no application '{application}'; did you mean 'default'?")
        if "built" in request and "nonsense" in request["built"]:
            raise Refusal("InvalidRequest", "request: built: nonsense: no such backend")
        explains = request.get("explain", False)
        if self.decision["backend"] is None and not explains:
            raise Refusal("NoMatch", "nothing matches")
        return self.answer(explains)

    def answer(self, explains):
        decision = self.decision
        candidates = dbus.Array([self.candidate(each) for each in decision["candidates"]], signature="a{sv}")
        return variants(
            {
                "Backend": decision["backend"] or "",
                "Gpus": dbus.Array([path_of(gpu) for gpu in decision["gpus"]], signature="o"),
                "Environment": dbus.Dictionary(decision["environment"], signature="ss"),
                "Decision": decision["decision"],
                "Generation": dbus.UInt64(self.report["generation"]),
                **({"Candidates": candidates} if explains else {}),
            }
        )

    def reason(self, reason):
        detail = {key: dbus.Int64(fact) if isinstance(fact, int) else fact for key, fact in reason["detail"].items()}
        return variants({"Code": reason["code"], "Text": reason["code"], "Detail": variants(detail)})

    def candidate(self, candidate):
        members = {
            "Backend": candidate["backend"],
            "Verdict": candidate["verdict"],
            "Reasons": dbus.Array([self.reason(each) for each in candidate["reasons"]], signature="a{sv}"),
        }
        if candidate.get("environment"):
            members["Environment"] = dbus.Dictionary(candidate["environment"], signature="ss")
        if candidate["gpu"]:
            members["Gpu"] = dbus.ObjectPath(path_of(candidate["gpu"]))
        return variants(members)

    @dbus.service.method(MANAGER, in_signature="aoasa{sv}", out_signature="a{sv}")
    def Probe(self, gpus, apis, options):
        if "level_zero_sysman" in apis:  # stands for what only an administrator may do
            raise Refusal("NotAuthorized", "not for you")
        return variants({"Generation": dbus.UInt64(self.report["generation"])})

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    def serve(self, report):
        self.report = report
        self.PropertiesChanged(MANAGER, variants({"Generation": dbus.UInt64(report["generation"])}), [])


class Gpu(dbus.service.Object):
    @dbus.service.method(NAME + ".Gpu", in_signature="a{sv}", out_signature="a{sv}")
    def GetMemory(self, _options):
        free = int(os.environ["FAKE_FREE"])
        reading = variants({"Source": "nvml", "What": "free", "Bytes": dbus.UInt64(free)})
        return variants(
            {
                "Kind": "dedicated",
                "Free": dbus.UInt64(free),
                "FreeAtUsec": dbus.Int64(1700000000000000),
                "Source": "nvml",
                "Evidence": dbus.Array([reading], signature="a{sv}"),
            }
        )


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(os.environ["FAKE_BUS"])
    loop = GLib.MainLoop()
    nothing = {"backend": None, "gpus": [], "environment": {}, "decision": "", "candidates": []}
    manager = Manager(bus, load(sys.argv[1]), load(sys.argv[2]) if len(sys.argv) > 2 else nothing)
    gpus = [Gpu(bus, path_of(gpu["id"])) for gpu in manager.report["gpus"]] if "FAKE_FREE" in os.environ else []
    bus.request_name(NAME)

    def command(source, _condition):
        line = source.readline().strip()
        if not line or line == "leave":
            loop.quit()
            return False
        manager.serve(load(line))
        return True

    GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
    print("ready", flush=True)
    loop.run()


if __name__ == "__main__":
    main()
