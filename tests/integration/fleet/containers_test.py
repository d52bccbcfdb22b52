# SPDX-License-Identifier: Apache-2.0
"""Tests that podman resolves the devices of the exported CDI specification. A fake OCI runtime stores the configuration from podman."""
import json
import subprocess
import unittest

import fleet_case

# The fake OCI runtime stores its configuration and starts nothing, so that the test needs neither an image nor a control group.
RECORDER = """#!/bin/sh
for word in "$@"; do
    [ "$before" = --bundle ] && bundle=$word
    [ "$before" = --pid-file ] && pid=$word
    before=$word
done
for word in "$@"; do
    case $word in
    create)
        cp "$bundle/config.json" {folder}/told.json
        sleep 0.1 &
        echo $! >"$pid"
        exit 0 ;;
    state)
        echo '{{"ociVersion":"1.0.2","id":"x","status":"stopped","pid":0,"bundle":"/"}}'
        exit 0 ;;
    esac
done
"""
# Copies the CDI specification to a private /run, so that the /run of the machine is not changed.
RUN = """
mount -t tmpfs tmpfs /run && mkdir /run/cdi && cp {folder}/gpuprobe.json /run/cdi/ || exit 77
exec podman --root {folder}/root --runroot {folder}/runroot --tmpdir {folder}/tmp --runtime {folder}/crun \\
    --cgroup-manager=cgroupfs --events-backend=none run --rootfs --net=none --cgroups=disabled \\
    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --device {device} {folder}/rootfs /bin/true
"""
NODES = {"/dev/dri/card2": "/dev/null", "/dev/dri/renderD129": "/dev/full", "/dev/kfd": "/dev/zero"}


@unittest.skipIf(fleet_case.missing("podman", "unshare"), fleet_case.missing("podman", "unshare"))
class Podman(fleet_case.FleetCase):
    def setUp(self):
        super().setUp()
        if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("mount namespaces cannot be created here")
        (self.folder / "rootfs").mkdir()
        runtime = self.write("crun", RECORDER.format(folder=self.folder))
        runtime.chmod(0o755)

    def start(self, specification, device):
        self.write("gpuprobe.json", specification)
        done = self.run_command("unshare", "-m", "--propagation", "private", "sh", "-c",
                                RUN.format(folder=self.folder, device=device), check=False)
        if done.returncode == 77:
            self.skipTest("nothing can be mounted here")
        return done

    def test_gives_a_container_the_nodes_of_one_gpu(self):
        specification = fleet_case.golden("cdi")
        for path, there in NODES.items():
            specification = specification.replace(path, there)
        self.start(specification, "gpuprobe/gpu=0000-c5-00.0")
        told = json.loads((self.folder / "told.json").read_text())
        self.assertEqual([node["path"] for node in told["linux"]["devices"]], list(NODES.values()))
        for variable in ("GPUPROBE_CDI=1", "GPUPROBE_GPU_0000_C5_00_0=amd:gfx1036"):
            self.assertIn(variable, told["process"]["env"])

    def test_knows_no_other_device(self):
        done = self.start(fleet_case.golden("cdi"), "gpuprobe/gpu=all")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unresolvable CDI devices", done.stderr)


if __name__ == "__main__":
    unittest.main()
