// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain/explain.h"

namespace gpuprobe::inline explain {

/// By subject. A sentence has no capital and no full stop: it follows "vulkan: " or a GPU's id.
/// One code in words. In both texts "{key}" stands for that member of the reason's detail, and what
/// is between "[" and "]" is left out when a member it names is unknown. "{key:size}" reads bytes,
/// "{key:signal}" a signal number, "{key:time}" microseconds since the epoch, "{key:vendor}" a
/// vendor's word, "{key:join}" a group that is worth joining.
struct Wording {
    std::string_view code;
    std::string_view sentence;
    /// What the reader can do about it; empty when nothing, and where a cause of
    /// data/knowledge/causes rests on the code and knows.
    std::string_view fix = {};
};

/// Of reasons, by subject. A sentence has no capital and no full stop: it follows "vulkan: " or a
/// GPU's id.
inline constexpr Wording kWordings[] = {
    // How a probe ended.
    {"driver-crashed", "the driver crashed when asked[ ({note})]"},
    {"driver-timed-out", "the driver did not answer in time[ ({note})]"},
    {"driver-failed", "the driver failed when asked[ ({note})]"},
    {"api-refused", "the driver refused[ {call}][ (error {code})]"},
    {"driver-missing", "its driver is not installed[ ({note})]"},
    {"loader-missing", "its loader is not installed[ ({note})]"},
    {"stub-library", "only a stub of the driver's library is installed"},
    {"driver-not-loaded", "the kernel driver is not loaded"},
    {"system-not-ready", "CUDA says that the system is not ready"},
    {"not-listed", "the driver does not show this GPU"},
    {"no-gpu", "this machine has no GPU for it"},
    {"no-device", "the driver shows no device"},
    {"mig-without-graphics", "MIG is on, and its instances compute without graphics"},
    {"mig-without-instance", "MIG is on, and the GPU has no instance that programs could use"},
    {"one-instance-listed",
     "programs see it when they are told its UUID, and one instance at a time"},
    {"inconclusive", "the driver should show this GPU and does not"},
    {"ambiguous", "the driver shows a device that may be this GPU or another one"},
    {"skipped", "it was not asked"},
    {"not-probed", "it has not been asked yet", "ask the drivers: gpuprobectl probe"},
    {"cancelled", "the probe was cancelled", "ask the drivers: gpuprobectl probe"},
    {"asleep", "asking would wake a sleeping GPU[: {device}]"},
    {"quarantined",
     "it did harm before[ ({why})], and is not asked again[ until {until_usec:time}]"},
    {"unstable", "the driver says something else each time it is asked, since {since_usec:time}"},
    {"worker-not-started", "no probe could be started[: {problem}]"},
    {"worker-lost", "the process that asked it was gone before there was an answer"},
    {"worker-stuck", "the process that asked it last is stuck in the kernel"},
    {"worker-output", "it printed: {lines}"},
    {"malformed-answer", "the probe's answer made no sense[: {problem}]"},
    {"malformed-manifest", "the driver's manifest is malformed"},
    {"unreadable", "a folder or file can't be read[: {note}]"},
    {"unreadable-manifest", "the driver's manifest can't be read"},
    {"nvidia-icd-needs-egl",
     "the NVIDIA driver works through {library} only: its manifest names the GLX one"},

    // How computing ended.
    {"miscomputed", "it computes wrong results[: {wrong_words} of {words} words]"},
    {"not-computing", "a small kernel on it ended: {result}[ ({note})]"},
    {"stage-not-offered", "its API tells facts and runs nothing"},
    {"device-not-found", "the driver does not offer that device now[: {device}]",
     "ask the drivers: gpuprobectl probe"},
    {"no-compute-queue", "none of its queues computes"},
    {"compiler-missing", "its driver has no compiler here[ ({call})]",
     "install the driver's compiler library; into a container it has to be passed"},
    {"build-failed", "the driver's compiler refused a small kernel[ ({call})]"},
    {"out-of-memory",
     "too little memory for a context and a buffer[: {have:size}, and {need:size} is needed]"},
    {"dispatch-timed-out", "a small kernel did not end in time",
     "look for a GPU that hangs in the kernel log: journalctl -k"},
    {"device-lost", "the GPU was lost in the middle of it",
     "look for the reason in the kernel log: journalctl -k"},
    {"too-slow", "its smallest piece of work takes too long to be repeated"},
    {"busy", "others use it[: {percent} % of its time]",
     "measure anyway: gpuprobectl bench --force"},
    {"on-battery", "the machine runs on its battery", "measure anyway: gpuprobectl bench --force"},
    {"not-enough-memory", "too little memory is free[: {free:size} of {need:size}]"},

    // Hardware and kernel drivers.
    {"vendor-mismatch",
     "[for GPUs of another vendor than {have:vendor}|needs a GPU of another vendor]"
     "[: {needs:vendor}]"},
    {"display-only", "a display adapter without compute"},
    {"no-driver", "no driver for it"},
    {"driver-mismatch",
     "kernel module[ {kernel}] and driver libraries[ {userspace}] differ in version"},
    {"driver-mixed", "{library} is of version {version}, and libcuda.so.1 of {cuda}"},
    {"driver-too-old",
     "the driver is too old[: it is {have}, and {need} is needed]"
     "[: it is {have}, and {want} is needed]",
     "update the GPU's driver[ to {need} or later][ to {want} or later]"},
    {"kernel-driver-unfit", "{api} does not work with the kernel driver {driver}",
     "use the vendor's kernel driver for it"},
    {"device-not-ready", "its driver says that it is not ready[: {state}]"},
    {"passthrough", "the GPU is set aside for virtual machines[ by {driver}]"},
    {"uvm-missing", "CUDA's node /dev/nvidia-uvm is missing"},
    {"lost", "the GPU no longer answers"},
    {"wedged", "the kernel driver gave the GPU up"},
    {"unhealthy", "the GPU has a problem[: {health}]"},
    {"joined-weakly", "taken for this GPU by vendor and model only"},
    {"conflict", "two drivers tell different things about one device"},
    {"device-error", "the driver failed on one of its devices"},
    {"too-many-devices", "{driver} lists {listed} {api} devices, of which {left_out} do not count"},
    {"memory-mismatch", "two sources differ about its memory"},
    {"implausible", "{source} tells a size that no GPU here can have[: {bytes:size}]"},

    // Nodes and permissions.
    {"no-permission", "no permission for {node}[, which belongs to group {group}]"},
    {"prober-no-permission",
     "the daemon has no permission for {node}[, which belongs to group {group}]"},
    {"missing", "does not exist"},
    {"node-missing",
     "{node} is not there[, though the kernel has the device: it was not passed into "
     "this {container} container]"},
    {"device-denied", "the control group of the asking process denies {node}"},

    // What an API offers on a device.
    {"compute-prohibited", "the GPU's compute mode prohibits it"},
    {"no-compute-device", "the device cannot compute"},
    {"not-usable", "it cannot be used"},
    {"webgpu-unknown", "not known whether Vulkan offers all that WebGPU needs"},
    {"webgpu-features", "Vulkan lacks what WebGPU needs[: {missing}]"},
    {"software-rasterizer", "[{name} ]is a software rasteriser, not a GPU"},

    // What a profile or a request rules out.
    {"not-built", "the consumer is built without it"},
    {"not-in-profile-for-vendor", "the consumer does not use it on[ {vendor:vendor}] GPUs"},
    {"denied", "the request rules it out"},
    {"not-requested", "the request is for[ {requested}] alone"},
    {"integrated-not-allowed", "the consumer does not use integrated GPUs"},
    {"integrated-not-enabled", "the consumer uses integrated GPUs only where it is told to",
     "start it with {variables} in its environment"},
    {"discrete-preferred", "a discrete GPU is there[: {gpu}]"},
    {"cpu-forbidden", "the consumer does not run on the CPU"},
    {"strict", "the request does not settle for the CPU"},
    {"not-measured", "its speed was not measured", "measure: gpuprobectl bench"},
    {"slower-than-cpu",
     "it was measured slower than the CPU (score {score:rate}, the CPU's is {cpu_score:rate})"},
    {"not-verified",
     "nobody has checked what it computes[ with {backend}][, and it ended: {result}]",
     "check: gpuprobectl probe --stage=verify"},
    {"unknown-not-chosen", "what is not known is not chosen"},
    {"too-little-memory",
     "too little memory[: {have:size}, and {need:size} is needed]"
     "[: {have:size}, and {want:size} is needed]"},
    {"memory-unknown", "its memory is not known[, and {need:size} is needed]"},
    {"free-unknown", "what is free is not known: counted is what is {used}"},
    {"window-ignored",
     "which layers of a[ {architecture}] model see a window only is not known: all are counted "
     "whole"},
    {"requirement-unmet", "it does not meet {requirement}[: it has {have}]"},
    {"requirement-unknown", "not known whether it meets {requirement}",
     "ask the drivers: gpuprobectl probe"},
    {"switched-off", "the request wants no GPU"},
    {"simulated", "made up, as the request asks"},
    {"hidden-by-environment", "{variable}={value} in the caller's environment hides {gpu}",
     "start the program with the environment of the answer, or without {variable}"},
    {"gpu-unused", "{gpu} is left unused[ by {by}]: [{reasons:why}|nothing here is made for it]",
     "[{reasons:fix}]"},
    {"not-told-apart", "nothing that the consumer reads tells {gpu} from {gpus}"},
    {"platform-not-in-profile", "the consumer's profile does not know[ {platform}]"},
    {"arch-not-in-build", "no code for its architecture[ {have}] in the build[: {need}][: {want}]"},
    {"reported-failed", "the consumer tried it and failed[: {detail}]"},

    // What a variant needs.
    {"fact-unknown", "not known[: {predicate}][, wanted: {want}]"},
    {"unsupported-predicate", "needs something this program does not know[: {predicate}]",
     "update gpuprobe: a newer one may know it"},
    {"other-libc", "needs another C library[: {want}][, and this is {have}]"},
    {"glibc-too-old",
     "glibc is too old[: it is {have}, and {need} is needed]"
     "[: it is {have}, and {want} is needed]",
     "take a newer release of the distribution, or a container, which has a newer glibc"},
    {"kernel-too-old",
     "the kernel is too old[: it is {have}, and {need} is needed]"
     "[: it is {have}, and {want} is needed]"},
    {"cpu-too-old", "the CPU is too old[: {want} is needed][: {need} is needed][, it is {have}]"},
    {"cpu-feature-missing", "the CPU lacks {missing}"},
    {"library-missing", "not installed: {missing}[, which {build} needs]",
     "install the packages that have {missing}[, or a build that brings it: {build} does not]"},
    {"library-not-listed", "not known whether {library} is installed[, which {build} needs]"},
    {"brought", "the consumer brings its libraries; this host's are missing or gave no answer"},
    {"other-l4t", "needs a Jetson with L4T {want}[, and this is {have}]"},
    {"too-little-host-memory", "too little memory[: {have:size}, and {want:size} is needed]"},
    {"backend-not-usable", "{want} cannot be used on it"},
    {"other-kind", "for another kind of GPU[ than {have}][: {want}]"},
    {"ptx-needs-newer-driver",
     "the driver cannot compile the build's code[: it knows CUDA {driver_cuda}, the code is of "
     "{toolkit}][ (PTX {ptx})]",
     "update the GPU's driver[ to one for CUDA {toolkit} or later]"},
    {"built-for-older", "made for an older version[: it is {have}, wanted is {want}]"},
    {"cuda-version-unfit", "the driver's CUDA does not fit[: it is {have}, wanted is {want}]"},
    {"rocm-version-unfit", "ROCm does not fit[: it is {have}, wanted is {want}]"},
    {"vulkan-loader-too-old",
     "the Vulkan loader is too old[: it is {have}, and {need} is needed]"
     "[: it is {have}, and {want} is needed]"},
    {"vulkan-too-old",
     "its Vulkan is too old[: it is {have}, and {need} is needed]"
     "[: it is {have}, and {want} is needed]"},
    {"vulkan-feature-missing", "its Vulkan lacks {missing}"},
    {"vulkan-extension-missing", "its Vulkan lacks {missing}"},
    {"stale-document", "what is known in '{document}' has expired[ on {expired}]",
     "update gpuprobe, or its knowledge: gpuprobectl knowledge status"},
    {"rules-too-old", "the manifest relies on newer rules[: {need}, and these are of {have}]",
     "update gpuprobe"},
    {"no-such-variant", "neither a variant nor a family: {word}"},
    {"platform-not-offered", "there are builds for {want} only[, and this is {have}]"},
    {"platform-unknown",
     "it is not known what machine this is ({unknown}); there are builds for {want}"},
    {"gpus-left-out", "not all GPUs were considered[: {count} were left out]"},

    // About the report itself.
    {"profile-ignored", "{file} is ignored[: {problem}]"},
    {"knowledge-ignored", "{file} is ignored[: {problem}]",
     "repair or remove it; gpuprobectl knowledge status says what is used"},
    {"no-hotplug", "hot-plug is not seen[: {problem}]"},
    {"override-set", "an override is set for {consumer}", "gpuprobectl override list"},
    {"state-not-kept", "the {what} can't be kept on disk[: {problem}]",
     "make room, or let the daemon write to its state folder"},
    {"state-ignored", "the {what} could not be read and were set aside[: {problem}]"},
};

}  // namespace gpuprobe::inline explain
