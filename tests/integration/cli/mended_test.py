# SPDX-License-Identifier: Apache-2.0
"""Applies the doctor's fixes to machines that need these fixes.

Each machine is a root folder in a private mount namespace: it has the /sys and /proc/driver of a recorded machine, and
separate device nodes, /etc and kernel command line. The root folder has the programs of the test system, but none of its drivers. A test breaks one
thing, runs the doctor as an unprivileged user, applies the fix (if the fix has commands, a shell runs the commands as root), and runs the doctor
again. The finding must be gone, and the doctor may report a new finding only if the unchanged machine also has this finding. Prints a table.
"""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

from cli_case import BIN, SOURCE

MACHINES = SOURCE / "tests/data/machines"
FAKES = pathlib.Path(os.environ.get("GPUPROBE_FAKES", "/nonexistent"))
ACCOUNT = 61234
NVIDIA, AMD, INTEL = "nvidia-h200-1", "soc-strix-halo", "lact-intel-b580"
FROM_HOST = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives")
INSIDE = r"""
mount --rbind /usr {root}/usr && mount --rbind {build} {root}{build} || exit 77
[ ! -d {root}/usr/share/vulkan ] || mount --bind {root}/.none {root}/usr/share/vulkan || exit 77
mount -t proc proc {root}/proc 2>/dev/null || mount --rbind /proc {root}/proc || exit 77
mount --bind {root}/.cmdline {root}/proc/cmdline && mount --bind {root}/.driver {root}/proc/driver || exit 77
exec chroot {root} {words}
"""
ROWS = []
SOUND = {}
# The causes whose fix a test in this file applies; docs/doctor.md mentions these tests.
MENDED = {"all-devices-hidden", "capabilities-without-compute", "capabilities-without-video", "cuda-library-missing", "devices-hidden",
          "drivers-overridden", "force-probe-shut", "gttsize-deprecated", "modeset-off", "msi-off", "no-driver", "no-permission",
          "node-missing", "nomodeset", "nvidia-blacklisted", "nvidia-devices-void", "nvidia-nodes-by-root", "path-with-stubs",
          "software-forced", "stale-manifest", "unreadable-manifest"}


def may_mount():
    return os.geteuid() == 0 and all(map(shutil.which, ("unshare", "chroot", "setpriv"))) and subprocess.run(
        ["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Machine:
    """A root folder with the devices of a recorded machine. `put` and `node` change its files and device nodes."""

    def __init__(self, folder, recorded):
        self.root = pathlib.Path(folder)
        self.recorded = recorded
        self.environment = {}
        self.groups = "--init-groups"
        for name in ("usr", "proc", "dev/dri", "tmp", "run", "var/tmp", "root", "etc/modprobe.d", "etc/vulkan/icd.d", ".driver", ".none"):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        (self.root / str(BIN.parent).lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name in FROM_HOST:
            source, target = pathlib.Path("/etc", name), self.root / "etc" / name
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            elif source.exists():
                shutil.copy(source, target)
        shutil.copytree(MACHINES / recorded / "root/sys", self.root / "sys", symlinks=True)
        driver = MACHINES / recorded / "root/proc/driver"
        if driver.is_dir():
            shutil.copytree(driver, self.root / ".driver", dirs_exist_ok=True)
        (self.root / "tmp").chmod(0o1777)
        self.put("/.cmdline", "quiet\n")
        self.put("/etc/os-release", "ID=debian\nVERSION_ID=12\n")
        self.put("/etc/passwd", f"root:x:0:0::/root:/bin/sh\nsomeone:x:{ACCOUNT}:{ACCOUNT}::/:/bin/sh\n")
        self.put("/etc/group", f"root:x:0:\nrender:x:105:\nvideo:x:44:\nsomeone:x:{ACCOUNT}:\n")
        self.node("/dev/null", 1, 3, 0o666)
        self.node("/dev/urandom", 1, 9, 0o666)

    def put(self, path, text):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def node(self, path, major, minor, mode, group=0):
        target = self.root / path.lstrip("/")
        target.unlink(missing_ok=True)
        os.mknod(target, stat.S_IFCHR | mode, os.makedev(major, minor))
        os.chmod(target, mode)
        os.chown(target, 0, group)

    def remove(self, path):
        (self.root / path.lstrip("/")).unlink()

    def run(self, *words, **environment):
        done = subprocess.run(
            ["unshare", "-m", "--propagation", "private", "sh", "-c",
             INSIDE.format(root=self.root, build=BIN.parent, words='"$@"'), "sh", *words],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent",
                 "GPUPROBE_SOCKET": "/nonexistent/socket", **environment},
            capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 77:
            raise unittest.SkipTest("nothing can be mounted here")
        return done

    def examined(self, before=""):
        """Returns {id: finding} from the doctor. The shell runs the commands in `before` before it runs the doctor."""
        doctor = f"{before} exec {BIN}/gpuprobectl --direct --no-cache --worker={BIN}/gpuprobe-worker doctor -j"
        done = self.run("setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", self.groups, "sh", "-c", doctor, **self.environment)
        if not done.stdout.startswith("{"):
            raise AssertionError(done.stderr or done.returncode)
        return {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}

    def obey(self, finding):
        """Runs a fix's commands as root on behalf of the user who ran the doctor."""
        for command in finding["commands"]:
            done = self.run("sh", "-ec", command.replace("sudo ", ""), USER="someone")
            if done.returncode:
                raise AssertionError(f"{command}: {done.stderr}")
        return " && ".join(finding["commands"])


def nvidia(machine):
    for name, minor in (("nvidia0", 0), ("nvidiactl", 255)):
        machine.node(f"/dev/{name}", 195, minor, 0o666)
    machine.node("/dev/nvidia-uvm", 510, 0, 0o666)


def amd(machine):
    machine.node("/dev/dri/card0", 226, 0, 0o666)
    machine.node("/dev/dri/renderD128", 226, 128, 0o666)
    machine.node("/dev/kfd", 510, 0, 0o666)
    (machine.root / "dev/accel").mkdir()
    machine.node("/dev/accel/accel0", 261, 0, 0o666)


class MendedCase(unittest.TestCase):
    def setUp(self):
        if not may_mount():
            self.skipTest("this test needs root, unshare, chroot and setpriv")
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    @classmethod
    def tearDownClass(cls):
        while ROWS:
            print("| " + " | ".join(ROWS.pop(0)) + " |")

    def sound(self, recorded):
        """Returns the findings on the unchanged recorded machine."""
        if recorded not in SOUND:
            SOUND[recorded] = set(self.machine(recorded, nvidia if recorded == NVIDIA else amd).examined())
        return SOUND[recorded]

    def machine(self, recorded, nodes):
        machine = Machine(tempfile.mkdtemp(dir=self.folder), recorded)
        self.folder.chmod(0o755)
        machine.root.chmod(0o755)
        nodes(machine)
        return machine

    def mended(self, machine, cause, do=None, before="", may_come=()):  # pylint: disable=too-many-arguments
        """Checks that the fix of a cause works. Calls `do` to apply the fix of the finding; without `do`, runs the commands of the fix."""
        self.assertIn(cause, MENDED)
        found = machine.examined()
        self.assertIn(cause, found, sorted(found))
        finding = found[cause]
        self.assertTrue(finding["fix"], cause)
        if before.startswith("unset"):
            self.assertEqual(finding["commands"], [before.rstrip("; ")])
        done = do(finding) if do else "" if before else machine.obey(finding)
        after = machine.examined(before)
        self.assertNotIn(cause, after, finding["fix"])
        self.assertEqual(sorted(set(after) - set(found) - self.sound(machine.recorded) - set(may_come)), [], "a new finding appeared")
        ROWS.append((cause, finding["fix"], before.rstrip("; ") or done or "as it says"))


class MendedNodes(MendedCase):
    def test_the_group_of_a_node_is_joined(self):
        machine = self.machine(AMD, amd)
        machine.node("/dev/dri/renderD128", 226, 128, 0o660, 105)
        found = machine.examined()["no-permission"]
        self.assertIn("usermod -aG render", found["fix"])
        machine.obey(found)
        machine.groups = "--clear-groups"  # as in a login session that began before the change
        self.assertIn("log out and in", machine.examined()["no-permission"]["fix"])
        machine.groups = "--init-groups"
        self.assertNotIn("no-permission", machine.examined())
        ROWS.append(("no-permission", found["fix"], found["commands"][0] + ", and another login"))

    def test_a_closed_node_of_nvidia_is_opened(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.node("/dev/nvidia0", 195, 0, 0o600)
        self.mended(machine, "no-permission")

    def test_a_missing_node_is_made(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.remove("/dev/nvidia0")

        def make(finding):
            self.assertEqual(finding["commands"], ["sudo nvidia-modprobe -c0"])
            machine.node("/dev/nvidia0", 195, 0, 0o666)
            return "the node that nvidia-modprobe(1) makes"

        self.mended(machine, "node-missing", make)

    def test_a_container_gets_the_node(self):
        machine = self.machine(AMD, amd)
        machine.put("/.dockerenv", "")
        machine.remove("/dev/dri/renderD128")

        def start_anew(finding):
            self.assertIn("docker run --device /dev/dri/renderD128", finding["fix"])
            machine.node("/dev/dri/renderD128", 226, 128, 0o666)
            return "the node, as --device brings it"

        self.mended(machine, "node-missing", start_anew)

    def test_a_container_gets_the_group(self):
        machine = self.machine(AMD, amd)
        machine.put("/.dockerenv", "")
        machine.node("/dev/dri/renderD128", 226, 128, 0o660, 4711)

        def start_anew(finding):
            self.assertIn('--group-add "$(stat -c %g /dev/dri/renderD128)"', finding["fix"])
            machine.groups = "--groups=4711"
            return "the group, as --group-add gives it"

        self.mended(machine, "no-permission", start_anew)


class MendedShell(MendedCase):
    def test_variables_are_unset(self):
        for cause, variable, value in (("all-devices-hidden", "CUDA_VISIBLE_DEVICES", ""), ("devices-hidden", "CUDA_VISIBLE_DEVICES", "1"),
                                       ("drivers-overridden", "LIBVA_DRIVER_NAME", "x"), ("software-forced", "LIBGL_ALWAYS_SOFTWARE", "1")):
            with self.subTest(variable):
                machine = self.machine(NVIDIA, nvidia)
                machine.environment = {variable: value}
                self.mended(machine, cause, before=f"unset {variable}; ")

    def test_stubs_leave_the_path_of_libraries(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.environment = {"LD_LIBRARY_PATH": "/opt/lib:/usr/local/cuda/lib64/stubs"}
        self.mended(machine, "path-with-stubs", before="LD_LIBRARY_PATH=/opt/lib; ")

    def test_a_container_gets_the_capability_of_computing(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.put("/.dockerenv", "")
        machine.environment = {"NVIDIA_DRIVER_CAPABILITIES": "graphics"}
        self.mended(machine, "capabilities-without-compute", before="export NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics,video; ")

    def test_a_container_gets_the_capability_of_videos(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.put("/.dockerenv", "")
        machine.environment = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
        self.mended(machine, "capabilities-without-video", before="export NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics,video; ")

    def test_a_container_gets_devices(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.put("/.dockerenv", "")
        machine.environment = {"NVIDIA_VISIBLE_DEVICES": "void"}
        self.mended(machine, "nvidia-devices-void", before="export NVIDIA_VISIBLE_DEVICES=all; ")


class MendedKernel(MendedCase):
    def test_a_word_leaves_the_command_line(self):
        for cause, recorded, nodes, word in (("nomodeset", AMD, amd, "nomodeset"), ("modeset-off", AMD, amd, "amdgpu.modeset=0"),
                                             ("msi-off", AMD, amd, "pci=nomsi"), ("gttsize-deprecated", AMD, amd, "amdgpu.gttsize=1024"),
                                             ("force-probe-shut", INTEL, amd, "xe.force_probe=!e20b")):
            with self.subTest(word):
                machine = self.machine(recorded, nodes)
                machine.put("/.cmdline", f"quiet {word}\n")

                def start_without(finding, machine=machine, word=word):
                    self.assertRegex(finding["fix"], re.escape(word.split("=")[0]) + "|ttm.pages_limit")
                    machine.put("/.cmdline", "quiet\n")
                    return f"started without {word}"

                self.mended(machine, cause, start_without)

    def unbound(self):
        """Makes a machine with an NVIDIA card and without a driver."""
        machine = self.machine(NVIDIA, lambda machine: None)
        shutil.rmtree(machine.root / "sys/bus/pci/drivers/nvidia")
        shutil.rmtree(machine.root / "sys/module/nvidia")
        shutil.rmtree(machine.root / ".driver/nvidia")
        machine.remove("/sys/devices/pci0000:00/0000:00:06.0/driver")
        machine.put("/sys/devices/pci0000:00/0000:00:06.0/uevent", "PCI_ID=10DE:2335\n")
        return machine

    def test_a_module_leaves_the_black_list(self):
        machine = self.unbound()
        machine.put("/etc/modprobe.d/mine.conf", "# by hand\nblacklist nvidia\n")

        def edit(finding):
            self.assertIn("grep -rsw nvidia /etc/modprobe.d", finding["fix"])
            done = machine.run("sh", "-ec", "grep -rl nvidia /etc/modprobe.d | xargs sed -i /nvidia/d")
            self.assertEqual(done.returncode, 0, done.stderr)
            return "the line taken out of the file that grep names"

        # The module is loaded when the machine starts again. Until the next start, the driver is missing, and the reason for its absence is unknown.
        self.mended(machine, "nvidia-blacklisted", edit, may_come=["no-driver"])

    def test_a_driver_is_bound(self):
        machine = self.unbound()
        whole = self.machine(NVIDIA, nvidia)

        def bind(finding):
            self.assertTrue(finding["fix"])
            shutil.rmtree(machine.root)
            whole.root.rename(machine.root)
            return "the machine as it is with the driver bound"

        self.mended(machine, "no-driver", bind)

    def test_a_parameter_of_the_module_is_taken_back(self):
        machine = self.machine(NVIDIA, nvidia)
        machine.put("/.driver/nvidia/params", "ModifyDeviceFiles: 0\n")

        def take_back(_):
            machine.put("/.driver/nvidia/params", "ModifyDeviceFiles: 1\n")
            return "the module loaded without it"

        self.mended(machine, "nvidia-nodes-by-root", take_back)


class MendedFiles(MendedCase):
    def test_the_library_of_cuda_is_installed(self):
        machine = self.machine(NVIDIA, nvidia)

        def install(finding):
            self.assertIn("apt install libcuda1", finding["fix"])
            machine.put("/etc/ld.so.conf.d/nvidia.conf", f"{FAKES}/nvidia/healthy\n")
            self.assertEqual(machine.run("ldconfig").returncode, 0)
            return "a libcuda.so.1 that the linker finds"

        # The fake CUDA library reports other cards, and the fake NVML reports a power limit, heat, faulty memory and a missing license. NVDEC and
        # NVENC are in other packages than CUDA.
        self.mended(machine, "cuda-library-missing", install,
                    may_come=("nvdec-library-missing", "nvenc-library-missing",
                              "joined-weakly", "lost", "unlisted", "not-given", "power-limited", "slowed-by-heat", "remap-pending", "vgpu-unlicensed"))

    def test_a_stale_manifest_is_removed(self):
        machine = self.machine(AMD, amd)
        machine.put("/etc/vulkan/icd.d/gone_icd.json",
                    '{"file_format_version": "1.0.0", "ICD": {"library_path": "/opt/gone/libvulkan_radeon.so", "api_version": "1.3.0"}}')

        def remove(finding):
            machine.remove(finding["evidence"]["driver"])
            return "the file removed"

        self.mended(machine, "stale-manifest", remove)

    def test_an_unreadable_manifest_is_opened(self):
        machine = self.machine(AMD, amd)
        machine.put("/etc/vulkan/icd.d/closed_icd.json", '{"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_radeon.so", "api_version": "1.3.0"}}')
        (machine.root / "etc/vulkan/icd.d/closed_icd.json").chmod(0o600)
        # The manifest is for a real driver, which does not find the simulated card.
        self.mended(machine, "unreadable-manifest", may_come=("unlisted",))


class MendedTable(unittest.TestCase):
    def test_each_cause_of_it_has_a_case(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        for cause in MENDED:
            self.assertGreater(text.count(f'"{cause}"'), 1, cause)


if __name__ == "__main__":
    unittest.main()
