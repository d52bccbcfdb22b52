// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/wording.h"

namespace gpuprobe {

/// By subject. A sentence has no capital and no full stop: it follows "vulkan: " or a GPU's id.
inline constexpr Wording kWordings[] = {
    // How a probe ended.
    {"driver-crashed", "the driver crashed when asked[ ({note})]",
     "a crash is a bug of the driver: update it, or remove its manifest[ {driver}]"},
    {"driver-timed-out", "the driver did not answer in time[ ({note})]",
     "a driver that hangs often means a stuck GPU: look for it in the kernel log (journalctl -k)"},
    {"driver-failed", "the driver failed when asked[ ({note})]"},
    {"api-refused", "the driver refused[ {call}][ (error {code})]"},
    {"driver-missing", "its driver is not installed[ ({note})]"},
    {"loader-missing", "its loader is not installed[ ({note})]"},
    {"stub-library", "only a stub of the driver's library is installed",
     "install the GPU's driver, not only the development files"},
    {"driver-not-loaded", "the kernel driver is not loaded", "load the GPU's kernel driver"},
    {"fabric-manager-not-ready", "the NVLink fabric is not ready",
     "start nvidia-fabricmanager, in the version of the driver"},
    {"not-listed", "the driver does not show this GPU"},
    {"no-gpu", "this machine has no GPU for it"},
    {"no-device", "the driver shows no device"},
    {"inconclusive", "the driver should show this GPU and does not"},
    {"ambiguous", "the driver shows a device that may be this GPU or another one"},
    {"skipped", "it was not asked"},
    {"not-probed", "it has not been asked yet", "ask the drivers: gpuprobectl probe"},
    {"cancelled", "the probe was cancelled", "ask the drivers: gpuprobectl probe"},
    {"asleep", "asking would wake a sleeping GPU[: {device}]",
     "ask anyway: gpuprobectl probe --allow-wake"},
    {"quarantined", "it crashed or hung before, and is not asked again",
     "an update of the driver lifts this"},
    {"worker-not-started", "no probe could be started[: {problem}]"},
    {"worker-output", "it printed: {lines}"},
    {"malformed-answer", "the probe's answer made no sense[: {problem}]"},
    {"malformed-manifest", "the driver's manifest is malformed[: {problem}]",
     "reinstall the package that the manifest belongs to"},
    {"unreadable", "a folder or file can't be read[: {note}]"},
    {"unreadable-manifest", "the driver's manifest can't be read[: {problem}]"},
    {"nvidia-icd-needs-egl",
     "the NVIDIA driver works through {library} only: its manifest names the GLX one",
     "install libGLX_nvidia's libraries, or point the manifest[ {manifest}] at {library}"},

    // Hardware and kernel drivers.
    {"vendor-mismatch", "needs a GPU of another vendor[: {needs:vendor}]"},
    {"display-only", "a display adapter without compute"},
    {"no-driver", "no driver for it",
     "install the kernel driver of the GPU's vendor, or load it with modprobe"},
    {"driver-mismatch",
     "kernel module[ {kernel}] and driver libraries[ {userspace}] differ in version",
     "reboot after a driver update, or reload the kernel module"},
    {"driver-too-old", "the driver is too old[: it is {have}, and {need} is needed]",
     "update the GPU's driver[ to {need} or later]"},
    {"passthrough", "the GPU is set aside for virtual machines[ by {driver}]",
     "bind the GPU to its own driver to use it here"},
    {"uvm-missing", "the kernel module nvidia-uvm is not in use", "sudo modprobe nvidia-uvm"},
    {"lost", "the GPU no longer answers", "switch the machine off and on again"},
    {"wedged", "the kernel driver gave the GPU up", "reload the kernel driver, or reboot"},
    {"unhealthy", "the GPU has a problem[: {health}]"},
    {"joined-weakly", "taken for this GPU by vendor and model only"},
    {"conflict", "two drivers tell different things about one device"},
    {"device-error", "the driver failed on one of its devices[: {note}]"},
    {"memory-mismatch", "two sources differ about its memory"},

    // Nodes and permissions.
    {"no-permission", "no permission for {node}[, which belongs to group {group}]",
     "[join its group: sudo usermod -aG {group} \"$USER\", then log in again]"},
    {"prober-no-permission",
     "the daemon has no permission for {node}[, which belongs to group {group}]",
     "let the daemon in, or ask the drivers yourself: gpuprobectl --direct"},
    {"missing", "does not exist"},
    {"node-missing",
     "{node} is not there[, though the kernel has the device: it was not passed into "
     "this {container} container]",
     "[start the {container} container with the GPU: --device {node}, or by CDI (--device "
     "vendor/class=name)]"},
    {"device-denied", "the control group of the asking process denies {node}",
     "start the container with the GPU, or allow the device in the unit: DeviceAllow="},

    // What an API offers on a device.
    {"compute-prohibited", "the GPU's compute mode prohibits it",
     "sudo nvidia-smi --compute-mode=DEFAULT"},
    {"no-compute-device", "the device cannot compute"},
    {"not-usable", "it cannot be used"},
    {"webgpu-unknown", "not known whether Vulkan offers all that WebGPU needs"},
    {"webgpu-features", "Vulkan lacks what WebGPU needs[: {missing}]"},
    {"software-rasterizer", "[{name} ]is a software rasteriser, not a GPU"},

    // What a profile or a request rules out.
    {"not-built", "the consumer is built without it"},
    {"not-in-profile-for-vendor", "the consumer does not use it on[ {vendor}] GPUs"},
    {"denied", "the request rules it out"},
    {"not-requested", "the request is for[ {requested}] alone"},
    {"integrated-not-allowed", "the consumer does not use integrated GPUs"},
    {"discrete-preferred", "a discrete GPU is there[: {gpu}]"},
    {"cpu-forbidden", "the consumer does not run on the CPU"},
    {"strict", "the request does not settle for the CPU"},
    {"unknown-not-chosen", "what is not known is not chosen"},
    {"too-little-memory", "too little memory[: {have:size}, and {need:size} is needed]"},
    {"memory-unknown", "its memory is not known[, and {need:size} is needed]"},
    {"free-unknown", "what is free is not known: counted is what is {used}"},
    {"window-ignored",
     "which layers of a[ {architecture}] model see a window only is not known: all are counted "
     "whole"},
    {"arch-not-in-build", "no code for its architecture[ {have}] in the build[: {need}]"},
    {"requirement-unmet", "it does not meet {requirement}[: it has {have}]"},
    {"requirement-unknown", "not known whether it meets {requirement}",
     "ask the drivers: gpuprobectl probe"},
    {"switched-off", "the request wants no GPU"},
    {"simulated", "made up, as the request asks"},
    {"platform-not-in-profile", "the consumer's profile does not know[ {platform}]"},
    {"reported-failed", "the consumer tried it and failed[: {detail}]"},

    // About the report itself.
    {"profile-ignored", "the profile {file} is ignored[: {problem}]", "repair or remove {file}"},
    {"no-hotplug", "hot-plug is not seen[: {problem}]"},
    {"override-set", "an override is set for {consumer}", "gpuprobectl override list"},
    {"state-ignored", "the {what} could not be read and were set aside[: {problem}]"},
};

}  // namespace gpuprobe
