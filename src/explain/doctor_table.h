// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain/wording_table.h"

namespace gpuprobe {

/// What the doctor says and what helps, by the id of its finding. The commands are Debian's where
/// they are of a distribution. docs/doctor.md says more.
inline constexpr Wording kDiagnoses[] = {
    // The machine.
    {"no-gpu", "this machine has no GPU that computes",
     "if there should be one: is it seated and enabled in the firmware? lspci -nn | grep -Ei "
     "'vga|3d|display'"},
    {"container-without-gpu", "this {container} container was started without a GPU",
     "start it with one: --device /dev/dri, --device nvidia.com/gpu=all (CDI) or --gpus all"},
    {"wsl-libraries-missing", "this is WSL, and {folder} with the drivers of Windows is not there",
     "update WSL and the GPU's driver in Windows: wsl.exe --update"},
    {"wsl-linux-driver",
     "this is WSL, and {library} is a driver for Linux: the one of Windows is not used",
     "remove it (sudo apt purge 'libcuda1*' 'libnvidia-*' 'nvidia-*'), then, in Windows, wsl.exe "
     "--shutdown"},
    {"secure-boot", "Secure Boot is on, and a GPU has no driver: its module may be unsigned",
     "look for it (sudo dmesg | grep -i 'key was rejected'), then enrol the key it is signed "
     "with: sudo mokutil --import /var/lib/dkms/mok.pub"},
    {"nomodeset",
     "the kernel was started with nomodeset, which keeps most GPU drivers from loading",
     "remove nomodeset from GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and "
     "restart"},
    {"only-software", "Vulkan computes on the CPU alone: {names}",
     "see what stands in the way of the GPU's own driver, below"},
    {"library-without-device", "{library} is installed, and there is no {vendor:vendor} GPU"},
    {"devices-hidden", "{variable} is set to '{value}' here: programs see those GPUs alone",
     "unset {variable}"},
    {"drivers-overridden", "{variable} is set to '{value}' here: programs load other drivers",
     "unset {variable}"},
    {"architecture-overridden",
     "{variable} is set to '{value}' here: ROCm takes the GPU for another one",
     "unset {variable}, where the GPU is supported as it is"},
    {"vulkan-layers", "implicit Vulkan layers run in every Vulkan program: {layers}",
     "where Vulkan programs crash, try without them: VK_LOADER_LAYERS_DISABLE='~implicit~'"},
    {"word-size", "this system is of 32 bits ({arch}): vendors offer it no compute libraries"},
    {"unneeded-driver-crashed",
     "{api}: a driver that no GPU here needs crashed when asked[ ({note})][; it wrote: {output}]",
     "remove it where it is not wanted[: dpkg -S {driver}]; or update it, then gpuprobectl probe"},
    {"unneeded-driver-timed-out",
     "{api}: a driver that no GPU here needs did not answer in time[ ({note})][; it wrote: "
     "{output}]",
     "remove it where it is not wanted[: dpkg -S {driver}]; or update it, then gpuprobectl probe"},
    {"unneeded-driver-quarantined",
     "{api}: a driver that no GPU here needs did harm before[ ({why})][: {note}], and is not asked "
     "again[ until {until_usec:time}]",
     "remove it where it is not wanted[: dpkg -S {driver}]; or gpuprobectl quarantine clear {api}"},
    {"weak-confinement", "drivers are asked without {missing}: this system does not offer it",
     "a kernel of 5.13 or later with Landlock among its security modules, and a container that "
     "allows system-call filters"},
    {"profile-ignored", "the consumer profile {file} is ignored[: {problem}]",
     "repair or remove {file}"},
    {"conflict", "two drivers tell different things about one device"},
    {"unreadable", "something of the kernel's can't be read[: {note}]"},
    {"no-hotplug", "changes of hardware are not noticed[: {problem}]"},

    // Hardware and kernel.
    {"lost", "the GPU no longer answers[: {note}]",
     "look for its last words (sudo dmesg | grep -i -E 'xid|fallen off'), then switch the machine "
     "off and on; where it comes back: its seat, power and heat"},
    {"wedged", "the kernel driver gave the GPU up", "restart, or bind the driver again"},
    {"device-error", "{api}: the driver failed on this GPU[: {note}]",
     "look for the cause: sudo dmesg | grep -i -E 'xid|nvrm'"},
    {"no-driver", "no kernel driver is bound to it",
     "see why none took it (journalctl -k)[, or install what it misses and restart: sudo apt "
     "install {package}]"},
    {"no-driver@container", "no kernel driver of the host is bound to it",
     "that is the host's to mend: bind its driver there"},
    {"no-driver@libraries",
     "no kernel driver is bound to it, though its driver's libraries are installed",
     "sudo modprobe nvidia; where that fails, build the module: sudo apt install --reinstall "
     "linux-headers-amd64 nvidia-kernel-dkms, and see dkms status"},
    {"no-driver@legacy",
     "no kernel driver is bound to it, and NVIDIA's current ones do not know it any more",
     "sudo modprobe nouveau; for Kepler, Debian 12 has nvidia-tesla-470-driver"},
    {"no-driver@newest",
     "no kernel driver is bound to it, and it is newer than the driver that Debian has",
     "install 570 or later with the open kernel module, from NVIDIA's own repository"},
    {"passthrough", "it is set aside for virtual machines[ by {driver}]",
     "to use it here, give it back to its own driver and restart"},
    {"firmware-framebuffer",
     "only the firmware's framebuffer serves it ({driver}): no GPU driver is "
     "loaded",
     "load its driver: start without nomodeset, and see journalctl -k -g 'drm|firmware'"},
    {"display-only", "it shows pictures and computes nothing[ ({driver})]"},
    {"nouveau", "{driver} drives it: there is no CUDA, and Vulkan only through Mesa's NVK",
     "install NVIDIA's driver (contrib and non-free): sudo apt install linux-headers-amd64 "
     "nvidia-driver; nvidia-detect says whether that is the one"},
    {"nouveau@container", "{driver} drives it on the host: there is no CUDA",
     "install NVIDIA's driver on the host; its container toolkit brings the driver in here"},
    {"nouveau@legacy", "{driver} drives it, as NVIDIA's current drivers do not know it any more",
     "keep it; for Kepler, Debian 12 has nvidia-tesla-470-driver with CUDA"},
    {"nouveau@newest", "{driver} drives it, and it is newer than the driver that Debian has",
     "install 570 or later with the open kernel module, from NVIDIA's own repository"},
    {"radeon", "{driver} drives it: Vulkan and ROCm are for amdgpu alone",
     "GCN 1 and 2 can change over, by the kernel's command line: radeon.si_support=0 "
     "amdgpu.si_support=1 radeon.cik_support=0 amdgpu.cik_support=1"},
    {"driver-mismatch",
     "kernel module[ {kernel}] and driver libraries[ {userspace}] differ in version",
     "restart: the driver was updated while its module was loaded"},
    {"driver-mismatch@container",
     "the host's kernel module[ {kernel}] and this {container} container's libraries[ {userspace}] "
     "differ in version",
     "take libcuda and libnvidia out of the image: the container toolkit brings the host's"},
    {"driver-not-loaded", "{api} finds no kernel driver", "sudo modprobe nvidia"},
    {"driver-not-loaded@nodes",
     "{api} does not reach the kernel driver, although it is loaded: /dev/nvidiactl, or the GPU's "
     "own node, is missing or shut",
     "sudo nvidia-modprobe -c0"},
    {"driver-not-loaded@container", "{api} does not reach the host's kernel driver",
     "start the container with the GPU: --gpus all, or --device nvidia.com/gpu=all (CDI)"},

    // Nodes and permissions.
    {"no-permission", "you may not open {node}[, which belongs to the group {group}]"},
    {"no-permission@group", "you may not open {node}[, which belongs to the group {group}]",
     "sudo usermod -aG {group} \"$USER\", then log in again"},
    {"no-permission@nvidia", "you may not open {node}[: its mode is {mode}]",
     "NVIDIA's nodes are for everybody: sudo chmod 0666 {node}, and see NVreg_DeviceFileMode in "
     "/etc/modprobe.d"},
    {"no-permission@udev", "you may not open {node}[: its mode is {mode}]",
     "a rule of udev's gives it to the group render, as systemd's own rules do: see udevadm info "
     "{node}"},
    {"no-permission@outside",
     "{node} is shut in this {container} container[, where it belongs to {group}]",
     "give the container the group of the host's node: docker run --group-add \"$(stat -c %g "
     "{node})\", podman run --group-add keep-groups"},
    {"node-missing", "{node} is not there, though the kernel has the GPU", "sudo udevadm trigger"},
    {"node-missing@nvidia", "{node} is not there, though the kernel has the GPU",
     "sudo nvidia-modprobe -c{minor}"},
    {"node-missing@container",
     "{node} is not there, though the kernel has the GPU: this {container} container was not given "
     "it",
     "start the container with it: --gpus all or --device nvidia.com/gpu=all (CDI) for NVIDIA, "
     "--device {node} for others"},
    {"device-denied", "a device control group denies {node}",
     "start the container with the GPU again (systemctl daemon-reload takes it away), or allow it "
     "in "
     "the unit: DeviceAllow={node} rw"},
    {"prober-no-permission", "the daemon may not open {node}, so nobody knows what works",
     "let the daemon in, or ask with your own rights: gpuprobectl --direct doctor"},
    {"uvm-missing", "CUDA needs {node}, and the module nvidia-uvm is not in use",
     "sudo modprobe nvidia-uvm, and sudo nvidia-modprobe -u -c0"},
    {"uvm-missing@loaded", "CUDA needs {node}, which is not there, though its module is loaded",
     "sudo nvidia-modprobe -u -c0"},
    {"uvm-missing@container", "CUDA needs {node}, which this {container} container was not given",
     "start the container with the GPU: --gpus all, or --device nvidia.com/gpu=all (CDI)"},
    {"kfd-missing",
     "ROCm needs {node}, which is not there[: this {container} container was not "
     "given it]",
     "in a container, pass it in (--device {node}); else a kernel with CONFIG_HSA_AMD, on a GPU "
     "that "
     "KFD supports"},

    // Libraries.
    {"cuda-library-missing", "NVIDIA's kernel driver is loaded, and libcuda.so.1 is not installed",
     "sudo apt install libcuda1 nvidia-driver-libs; they have to be of the module's version"},
    {"cuda-library-missing@tegra",
     "NVIDIA's kernel driver is loaded, and libcuda.so.1 is not installed",
     "sudo apt install nvidia-l4t-cuda, from the repository of Jetson Linux"},
    {"cuda-library-missing@container",
     "NVIDIA's kernel driver is loaded, and this {container} container was not given libcuda.so.1",
     "start the container with the GPU (--gpus all, or --device nvidia.com/gpu=all), which brings "
     "the host's; the host needs nvidia-container-toolkit"},
    {"vulkan-loader-missing", "the Vulkan loader is not installed", "sudo apt install libvulkan1"},
    {"vulkan-driver-missing", "no Vulkan driver for[ {vendor:vendor}] GPUs is installed",
     "[sudo apt install {package}]"},
    {"opencl-loader-missing", "the OpenCL loader is not installed",
     "sudo apt install ocl-icd-libopencl1"},
    {"opencl-driver-missing", "no OpenCL driver for[ {vendor:vendor}] GPUs is installed",
     "[sudo apt install {package}]"},
    {"rocm-missing", "ROCm is not installed; Vulkan does without it",
     "sudo apt install libhsa-runtime64-1 libamdhip64-5, or ROCm from AMD"},
    {"level-zero-missing", "Level Zero is not installed; Vulkan and OpenCL do without it",
     "install libze-intel-gpu1 from Intel's own repository: Debian has none"},
    {"stale-manifest", "{driver} names a library that is not there[: {library}]",
     "reinstall its package or remove it: dpkg -S {driver}"},
    {"malformed-manifest", "the driver's manifest[ {driver}] is malformed[: {problem}]",
     "reinstall the package that it belongs to"},
    {"unreadable-manifest", "the driver's manifest[ {driver}] can't be read[: {problem}]",
     "sudo chmod a+r {driver}"},
    {"nvidia-icd-needs-egl",
     "NVIDIA's Vulkan driver works through {library} alone here, and {manifest} names the one for "
     "X",
     "sed s/libGLX/libEGL/ {manifest} | sudo tee /etc/vulkan/icd.d/nvidia_egl.json"},
    {"mig-without-instance", "MIG is on, and the GPU has no instance that programs could use",
     "create one (sudo nvidia-smi mig[ -i {address}] -lgip lists the sizes, -cgi SIZE -C makes "
     "it), or switch MIG off: sudo nvidia-smi[ -i {address}] -mig 0"},
    {"mig-without-instance@container",
     "MIG is on, and this {container} container was given no instance",
     "start it with one: --gpus device=MIG-UUID, or NVIDIA_VISIBLE_DEVICES=MIG-UUID"},
    {"stub-library", "a toolkit's stub of libcuda.so.1 is found before the driver's",
     "take the folder 'stubs' out of LD_LIBRARY_PATH and /etc/ld.so.conf.d"},
    {"fabric-manager-not-ready", "the NVLink fabric is not set up",
     "sudo systemctl enable --now nvidia-fabricmanager; it has to be of the driver's version"},
    {"fabric-manager-not-ready@container", "the NVLink fabric is not set up",
     "on the host: sudo systemctl enable --now nvidia-fabricmanager, of the driver's version"},
    {"compute-prohibited", "its compute mode lets no program in",
     "sudo nvidia-smi[ -i {address}] --compute-mode=DEFAULT"},
    {"no-compute-device", "a driver offers it without computing"},
    {"miscomputed", "it computes wrong results[: {wrong_words} of {words} words]",
     "use it for nothing that matters; look at its memory (nvidia-smi -q -d ECC,ROW_REMAPPER) and "
     "the kernel log, update the driver, and else have the GPU replaced"},
    {"not-computing", "a small kernel on it ended: {result}[ ({note})]",
     "look at the kernel log (journalctl -k), then try again: gpuprobectl probe --stage=verify"},

    // How probes ended.
    {"driver-crashed", "{api}: the driver crashed when asked[ ({note})][; it wrote: {output}]",
     "update the driver, or remove its manifest[ {driver}]; then gpuprobectl probe"},
    {"driver-timed-out",
     "{api}: the driver did not answer in time[ ({note})][; it wrote: {output}]",
     "look for a stuck GPU: journalctl -k -g 'xid|amdgpu|i915|xe|reset'"},
    {"driver-failed", "{api}: the driver failed when asked[ ({note})][; it wrote: {output}]",
     "update or reinstall the driver; then gpuprobectl probe"},
    {"worker-stuck", "{api}: the process that asked its driver last is stuck in the kernel",
     "look for its cause (journalctl -k); only a restart ends such a process"},
    {"worker-not-started", "{api}: no process could be started to ask it[: {problem}]",
     "systemctl restart gpuprobe-worker.socket && gpuprobectl probe"},
    {"worker-lost", "{api}: the process that asked it was gone before there was an answer",
     "gpuprobectl probe"},
    {"quarantined",
     "{api}: its driver did harm before[ ({why})][: {note}], and is not asked again[ until "
     "{until_usec:time}]",
     "update the driver, and a new one is asked; or gpuprobectl quarantine clear {api}"},
    {"unstable",
     "{api}: the driver says something else each time it is asked[ ({driver})][, since "
     "{since_usec:time}]; what it promises least is used",
     "update the driver; then gpuprobectl probe, until it has said the same three times"},
    {"inconclusive", "{api}: the driver should show this GPU and does not[ ({driver})]",
     "ask again: gpuprobectl probe"},
    {"ambiguous", "{api} shows a device that may be this GPU or another one"},
    {"asleep", "{api}: it sleeps, and asking would wake it", "gpuprobectl probe --allow-wake"},
    {"joined-weakly", "{api}'s device was taken for it by vendor and model alone"},
    {"not-probed", "nobody has asked its drivers", "gpuprobectl probe"},
    {"memory-mismatch", "two sources differ about its memory"},
    {"implausible", "{source} tells a size of its memory that no GPU here can have",
     "update the GPU's driver; the size is not used"},
};

}  // namespace gpuprobe
