# SPDX-License-Identifier: Apache-2.0
"""Runs a Slurm cluster on 127.0.0.1 with one running node. The cluster changes nothing outside its folder."""
import contextlib
import os
import pathlib
import secrets
import socket
import subprocess
import tempfile
import time

import fleet_case

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "srun", "scontrol")
CONFIG = """
ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes={gres_types}
{node_line} NodeAddr=127.0.0.1 CPUs=2 RealMemory=500 State=UNKNOWN
{others}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing():
    """Returns the reason why no cluster can be started on the test machine, or an empty string if a cluster can be started."""
    return fleet_case.missing(*PROGRAMS) or ("" if os.geteuid() == 0 else "only root can start slurmd")


class Cluster(contextlib.ExitStack):
    """`gres` is the content of gres.conf. All other arguments are parts of slurm.conf: the line for the node that runs, whose name must be `node`;
    the value of GresTypes; and the lines for nodes that are never started."""

    node = socket.gethostname().split(".")[0]

    def __init__(self, gres, node_line, gres_types, others=""):
        super().__init__()
        self.folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory(prefix="gpuprobe-slurm-")))
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(mode=0o755)
        self.environment = {"PATH": fleet_case.PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        (self.folder / "gres.conf").write_text(gres, encoding="utf-8")
        (self.folder / "slurm.conf").write_text(
            CONFIG.format(folder=self.folder, node=self.node, node_line=node_line.strip(), gres_types=gres_types, others=others,
                          controller=fleet_case.free_port(), daemon=fleet_case.free_port()), encoding="utf-8")

    def start(self, *command):
        log = self.enter_context(open(self.folder / "output.log", "ab"))
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT)
        self.callback(lambda: (process.terminate(), process.wait(timeout=20)))
        return process

    def start_all(self):
        munge = self.folder / "munge"
        key = munge / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        self.start("munged", "-F", f"--key-file={key}", f"--socket={munge}/munge.sock", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--num-threads=1", "--force")
        self.wait_for(lambda: (munge / "munge.sock").exists(), "munged")
        self.start("slurmctld", "-D", "-c", "-f", self.environment["SLURM_CONF"])
        self.start("slurmd", "-D", "-N", self.node, "-f", self.environment["SLURM_CONF"])
        self.wait_for(lambda: self.run("sinfo", "-h", "-n", self.node, "-o", "%T").stdout.strip() == "idle", "the node")

    def wait_for(self, is_there, what):
        end = time.monotonic() + 30
        while not is_there():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} did not start: {self.logs()}")
            time.sleep(0.05)

    def logs(self):
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in sorted(self.folder.glob("*.log")))

    def run(self, *command):
        return subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
