# SPDX-License-Identifier: Apache-2.0
"""Tests that Slurm accepts the exports, gives jobs the right GPU, and finds nodes with the queries from selector."""
import pathlib
import re
import shutil
import tempfile
import unittest

import fleet_case
import slurm_cluster

MISSING = slurm_cluster.missing()
CUDA = """{"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":{"requires":
{"host":{"glibc_min":"2.35"},"device":{"backend":"cuda","cuda":{"toolkit":"%s","sass":["8.0","9.0"],"exact":true}}},
"artifact":{"type":"oci","ref":"x"}}}}}}"""
# Slurm rejects a query with a feature that no node has, so this node has the features in the queries, but is never started.
OTHER = "NodeName=other NodeAddr=127.0.0.2 CPUs=2 RealMemory=500 State=DOWN Feature=cuda_sm80,cuda_drv525,glibc2.31"


@unittest.skipIf(MISSING, MISSING)
class Slurm(fleet_case.FleetCase):
    @classmethod
    def setUpClass(cls):
        """Starts a cluster with the golden machine as a node. Links to /dev/null replace the machine's device nodes."""
        folder = tempfile.mkdtemp(prefix="gpuprobe-slurm-nodes-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        node = slurm_cluster.Cluster.node
        gres = fleet_case.golden("slurm-gres").replace("NodeName=vm", f"NodeName={node}")
        gres = re.sub(r"File=/dev/(\S+)", lambda match: f"File={cls.fake_node(folder, match[1])}", gres)
        line = fleet_case.golden("slurm-node").replace("NodeName=vm", f"NodeName={node}")
        types = re.search(r"GresTypes=(\S+)", gres)[1]
        cls.cluster = slurm_cluster.Cluster(gres, line, types, OTHER)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start_all()

    @staticmethod
    def fake_node(folder, name):
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("/dev/null")  # a link to a device, because Slurm reads the device number
        return path

    def job(self, *options, patience=30):
        """Runs a job. `patience` is the number of seconds that Slurm may take to free the node after the previous job."""
        return self.cluster.run("srun", f"--immediate={patience}", *options, "/usr/bin/env")

    def test_gives_a_job_the_card(self):
        self.assertRegex(self.job("--gres=gpu:1").stdout, r"(?m)^CUDA_VISIBLE_DEVICES=0$")
        self.assertRegex(self.job("--gres=gpu:nvidia_h200:1").stdout, r"(?m)^CUDA_VISIBLE_DEVICES=0$")

    def test_gives_a_job_the_processors_gpu_without_another_ones_number(self):
        done = self.job("--gres=igpu:1")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("VISIBLE_DEVICES", done.stdout)

    def test_has_no_second_card(self):
        self.assertNotEqual(self.job("--gres=gpu:2", patience=2).returncode, 0)

    def test_runs_a_job_where_a_variant_runs(self):
        self.assertEqual(self.job("--constraint=var_llamacpp_cuda13").returncode, 0)

    def select(self, toolkit):
        """Runs `selector` with the features of all nodes, for a variant with kernels for sm_80 and sm_90. Returns the exit status and the query that
        `selector` prints."""
        manifest = self.write("manifest.json", CUDA % toolkit)
        features = self.cluster.run("sinfo", "-h", "-o", "%f").stdout
        done = self.ctl("selector", "p", "v", f"--manifest={manifest}", "--orchestrator=slurm", f"--features={features}",
                        check=False)
        return done.returncode, done.stdout.replace("'", "").split()

    def test_finds_the_node_by_what_a_variant_needs(self):
        code, options = self.select("13.0")
        self.assertEqual(code, 0)
        self.assertIn("(cuda_sm80|cuda_sm90)", options[0])
        done = self.job(*options)
        self.assertEqual(done.returncode, 0, f"{options}: {done.stdout}")

    def test_asks_for_nothing_that_no_node_has(self):
        code, options = self.select("99.0")
        self.assertEqual((code, options), (3, []))


if __name__ == "__main__":
    unittest.main()
