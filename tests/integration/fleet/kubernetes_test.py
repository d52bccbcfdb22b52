# SPDX-License-Identifier: Apache-2.0
"""Tests that the DaemonSet in data/kubernetes meets the requirements of the API server and of Node Feature Discovery."""
import json
import re
import unittest

import jsonschema
import yaml

import fleet_case

DATA = fleet_case.SOURCE / "data/kubernetes"
# Source: Node Feature Discovery, deployment/components/common/worker-mounts.yaml.
NFD = "/etc/kubernetes/node-feature-discovery"
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
# Source: Kubernetes API reference, HostPathVolumeSource.
HOST_PATH_TYPES = {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"}
# The part of Kubernetes' schema that describes the members in the manifest.
SCHEMA = json.loads((fleet_case.SOURCE / "tests/data/kubernetes/daemonset.schema.json").read_text(encoding="utf-8"))


class DaemonSet(fleet_case.FleetCase):
    def setUp(self):
        super().setUp()
        self.document = yaml.safe_load((DATA / "daemonset.yaml").read_text(encoding="utf-8"))
        self.pod = self.document["spec"]["template"]["spec"]
        self.container, = self.pod["containers"]

    def problems(self):
        return [f"{error.json_path}: {error.message}" for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(self.document)]

    def test_is_what_kubernetes_accepts(self):
        self.assertEqual(self.problems(), [])

    def test_would_be_refused_if_it_were_wrong(self):
        for change in (lambda: self.document.update(apiVersion="v1"), lambda: self.document["spec"].pop("selector"),
                       lambda: self.pod.update(tolerations={"operator": "Exists"}), lambda: self.pod.update(hostPid=True),
                       lambda: self.container.pop("name"), lambda: self.container.update(args="--direct"),
                       lambda: self.container["volumeMounts"][0].update(readonly=True),
                       lambda: self.container["securityContext"].update(privileged="yes"),
                       lambda: self.pod["volumes"][0]["hostPath"].pop("path")):
            self.setUp()
            change()
            self.assertEqual(len(self.problems()), 1)

    def test_selects_its_own_pods(self):
        wanted = self.document["spec"]["selector"]["matchLabels"]
        labels = self.document["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(wanted, {key: labels[key] for key in wanted})
        for value in labels.values():
            self.assertRegex(value, LABEL)

    def test_mounts_each_volume_once(self):
        volumes = {volume["name"]: volume for volume in self.pod["volumes"]}
        mounts = self.container["volumeMounts"]
        self.assertEqual(sorted(volumes), sorted(mount["name"] for mount in mounts))
        self.assertEqual(len({mount["mountPath"] for mount in mounts}), len(mounts))
        for mount in mounts:
            path = volumes[mount["name"]].get("hostPath")
            if path:
                self.assertIn(path.get("type", ""), HOST_PATH_TYPES)
                self.assertEqual(path["path"], mount["mountPath"])
                self.assertNotEqual(path["path"] == NFD, mount.get("readOnly", False))

    def test_gives_every_resource_as_a_quantity(self):
        for amounts in self.container["resources"].values():
            for amount in amounts.values():
                self.assertRegex(str(amount), r"\A\d+(m|Ki|Mi|Gi)?\Z")

    def test_writes_where_nfd_reads(self):
        words = self.container["args"]
        self.assertEqual(words[:3] + words[-2:], ["--direct", "export", "nfd", "--install", "--every=21600"])
        folder = self.folder / "node-feature-discovery/features.d"
        folder.mkdir(parents=True)
        done = self.run_command(fleet_case.BIN / "gpuprobectl", "--replay", fleet_case.SOURCE / "tests/data/machines/nvidia-h200-1",
                                *words[1:3], f"--output={folder / 'gpuprobe'}", "-j")
        self.assertEqual(json.loads(done.stdout)["result"], "written")
        self.assertIn("gpuprobe.feature.node.kubernetes.io/gpu.count=1", (folder / "gpuprobe").read_text())
        self.assertIn(f"`{NFD}/features.d/gpuprobe`", (fleet_case.SOURCE / "docs/fleet.md").read_text())

    def test_runs_the_image_of_the_containerfile(self):
        text = (DATA / "Containerfile").read_text(encoding="utf-8")
        self.assertIn("FROM scratch\n", text)
        self.assertEqual(json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1]), ["/gpuprobe"])


if __name__ == "__main__":
    unittest.main()
