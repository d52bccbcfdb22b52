// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain/explain.h"

namespace gpuprobe::inline explain {

/// The English text for a reason's code. Both texts are sentences (policy/text_template.h), in
/// which
/// "{key}" is that member of the reason's detail. "{key:size}" formats bytes,
/// "{key:rate}" a score, "{key:time}" microseconds since the epoch, "{key:vendor}" a vendor's id,
/// "{key:harm}" how a driver failed, "{key:number}" the number at the end of a text, "{key:why}"
/// and "{key:fix}" the reasons inside the reason.
struct Wording {
    std::string_view code;
    std::string_view sentence;
    /// The fix, if it is the same on all machines. Empty if nothing helps, and for codes that are
    /// covered by a cause in data/knowledge/causes, which gives the fix for the machine at hand.
    std::string_view fix = {};
    /// The command that does what `fix` says; shown after it.
    std::string_view command = {};
};

/// The wordings of all reasons, grouped by subject. A sentence has neither a capital nor a full
/// stop, because it follows "vulkan: " or a GPU's id.
inline constexpr Wording kWordings[] = {
    // How a probe ended.
    {"driver-crashed", "the driver crashed when asked[ ({note})]"},
    {"driver-timed-out", "the driver did not answer in time[ ({note})]"},
    {"driver-failed", "the driver failed when asked[ ({note})]"},
    {"api-refused", "[{call} failed|the driver returned an error][ (error {code})]"},
    {"driver-missing", "its driver is not installed[ ({note})]"},
    {"loader-missing", "its loader is not installed[ ({note})]"},
    {"stub-library", "only a stub of the driver library is installed"},
    {"driver-not-loaded", "the kernel driver is not loaded"},
    {"system-not-ready", "CUDA reports that the system is not ready"},
    {"not-listed", "the driver does not list this GPU"},
    {"no-gpu", "this machine has no GPU for it"},
    {"no-device", "the driver lists no device"},
    {"mig-without-graphics", "MIG is on, and MIG instances have no graphics APIs"},
    {"mig-without-instance", "MIG is on, but the GPU has no instance for programs to use"},
    {"one-instance-listed",
     "programs see one instance at a time: the one whose UUID they are given"},
    {"inconclusive", "the driver should list this GPU but does not"},
    {"ambiguous", "the driver lists a device that may be this GPU or another one"},
    {"skipped", "it was not asked"},
    {"not-probed", "it has not been asked yet", "ask the drivers", "gpuprobectl probe"},
    {"asleep", "asking would wake a sleeping GPU[: {device}]"},
    {"quarantined", "it is in quarantine[ until {until_usec:time}][: {why:harm}]"},
    {"unstable", "the driver's answers have kept changing since {since_usec:time}"},
    {"worker-not-started", "no probe could be started[: {problem}]"},
    {"worker-lost", "the probe's process ended before it answered"},
    {"worker-stuck", "the process that asked it last is stuck in the kernel"},
    {"worker-output", "it printed: {lines}"},
    {"malformed-answer", "the probe's answer is malformed[: {problem}]"},
    {"malformed-manifest", "the driver's manifest is malformed"},
    {"unreadable", "a folder or file cannot be read[: {note}]"},
    {"unreadable-manifest", "the driver's manifest cannot be read"},
    {"nvidia-icd-needs-egl",
     "the NVIDIA driver works only through {library}, but its manifest names the GLX library"},

    // How computing ended.
    {"miscomputed", "it computes wrong results[: {wrong_words} of {words} words]"},
    {"not-computing", "a test computation on it ended with: {result}[ ({note})]"},
    {"stage-not-offered", "this API only gives information and computes nothing"},
    {"device-not-found", "the driver no longer lists that device[: {device}]", "ask the drivers",
     "gpuprobectl probe"},
    {"no-compute-queue", "none of its queues can compute"},
    {"compiler-missing", "its driver's compiler is missing here[ ({call})]"},
    {"build-failed", "the driver's compiler rejected the test computation[ ({call})]"},
    {"out-of-memory",
     "too little memory for a context and a buffer[: {have:size}, but {need:size} is needed]"},
    {"dispatch-timed-out", "the test computation did not finish in time"},
    {"device-lost", "the GPU was lost during the computation"},
    {"too-slow", "even the smallest test takes too long to repeat"},
    {"busy", "other programs are using it[: {percent} % of the time]", "measure anyway",
     "gpuprobectl bench --force"},
    {"on-battery", "the machine is running on battery", "measure anyway",
     "gpuprobectl bench --force"},
    {"not-enough-memory", "too little memory is free[: {free:size}, but {need:size} is needed]"},

    // Hardware and kernel drivers.
    {"vendor-mismatch",
     "[only for {needs:vendor} GPUs, and this one is from {have:vendor}|only for {needs:vendor} "
     "GPUs|not for {have:vendor} GPUs|not for GPUs from this vendor]"},
    {"display-only", "a display adapter that cannot compute"},
    {"no-driver", "no kernel driver is bound to it"},
    {"driver-mismatch",
     "the versions of the kernel module[ ({kernel})] and of the driver libraries[ ({userspace})] "
     "differ"},
    {"driver-mixed", "{library} has version {version}, but libcuda.so.1 has {cuda}"},
    {"driver-too-old",
     "the driver is too old[: it is {have}, but {need} is needed][: it is {have}, but {want} is "
     "needed]"},
    {"kernel-driver-unfit", "{api} does not work with the kernel driver {driver}"},
    {"device-not-ready", "its driver reports that it is not ready[: {state}]"},
    {"passthrough", "the GPU is reserved for virtual machines[ by {driver}]"},
    {"uvm-missing", "the device node /dev/nvidia-uvm, which CUDA needs, is missing"},
    {"lost", "the GPU no longer answers"},
    {"wedged", "the kernel driver has given up on the GPU"},
    {"unhealthy", "the GPU has a problem[: {health}]"},
    {"joined-weakly", "matched to this GPU only by vendor and model"},
    {"conflict", "two drivers give conflicting information about one device"},
    {"device-error", "the driver failed on one of its devices"},
    {"too-many-devices",
     "{driver} lists {listed} {api} devices, and {left_out} of them are ignored"},
    {"isa-mismatch", "ROCm reports {reported} for it, and the kernel driver {kernel}"},
    {"memory-mismatch", "two sources give different sizes for its memory"},
    {"implausible", "{source} gives a size that no GPU here can have[: {bytes:size}]"},

    // Nodes and permissions.
    {"no-permission", "no permission to open {node}[, which belongs to the group {group}]"},
    {"prober-no-permission",
     "the daemon has no permission to open {node}[, which belongs to the group {group}]"},
    {"missing", "does not exist"},
    {"node-missing",
     "{node} does not exist[, although the kernel has the device: this {container} container was "
     "not given it]"},
    {"device-denied", "the caller's control group denies access to {node}"},

    // An API's abilities on a device.
    {"compute-prohibited", "the GPU's compute mode prohibits it"},
    {"no-compute-device", "the device cannot compute"},
    {"not-usable", "it cannot be used"},
    {"webgpu-unknown", "it is not known whether Vulkan has everything that WebGPU needs"},
    {"webgpu-features", "Vulkan lacks what WebGPU needs[: {missing}]"},
    {"software-rasterizer", "[{name} ]is a software rasteriser, not a GPU"},

    // Ruled out by a profile or a request.
    {"not-built", "the application was built without it"},
    {"not-in-profile-for-vendor", "the application does not use it on[ {vendor:vendor}] GPUs"},
    {"denied", "the request excludes it"},
    {"not-requested", "[the request is only for {requested}|the request is for something else]"},
    {"integrated-not-allowed", "the application does not use integrated GPUs"},
    {"integrated-not-enabled", "the application uses integrated GPUs only if it is configured to",
     "start it with {variables} in its environment"},
    {"discrete-preferred", "there is a discrete GPU[: {gpu}]"},
    {"cpu-forbidden", "the application does not run on the CPU"},
    {"strict", "the request does not accept the CPU as a fallback"},
    {"known-bad", "{text}"},
    {"unsound", "{backend} is used instead, which is not known to crash"},
    {"not-measured", "its speed was not measured", "measure", "gpuprobectl bench"},
    {"slower-than-cpu",
     "it was measured to be slower than the CPU (score {score:rate}, the CPU's is "
     "{cpu_score:rate})"},
    {"not-verified",
     "its results[ with {backend}] have not been verified[: the check ended with {result}]",
     "check", "gpuprobectl probe --stage=verify"},
    {"unknown-not-chosen", "it is not known to work, so it is not chosen"},
    {"too-little-memory",
     "too little memory[: {have:size}, but {need:size} is needed][: {have:size}, but {want:size} "
     "is needed]"},
    {"memory-unknown", "the size of its memory is not known[, and {need:size} is needed]"},
    {"free-unknown", "how much memory is free is not known: the {used} memory was counted instead"},
    {"buffer-limit",
     "one buffer can have at most {have:size} with {backend}, so programs that use a single one "
     "cannot use more"},
    {"window-ignored",
     "it is not known which layers of a[ {architecture}] model have a sliding window: all are "
     "counted in full"},
    {"requirement-unmet", "it does not meet {requirement}[: it has {have}]"},
    {"requirement-unknown", "it is not known whether it meets {requirement}", "ask the drivers",
     "gpuprobectl probe"},
    {"switched-off", "the request wants no GPU"},
    {"simulated", "made up, as requested"},
    {"hidden-by-environment", "{variable}={value} in the caller's environment hides {gpu}",
     "start the program with the environment from this answer, or without {variable}"},
    {"gpu-unused", "{gpu} is left unused[ by {by}]: [{reasons:why}|there is nothing here for it]",
     "[{reasons:fix}]"},
    {"better-if-built",
     "{backend} would be preferred on {gpu}, but only a build of your own could use it[: "
     "{reasons:why}]",
     "[{reasons:fix}]"},
    {"no-published-variant",
     "no published build is known to fit this machine, so this answer is for a build of your own[: "
     "{reasons:why}]"},
    {"other-version", "this build installs version {have}[; the newest is {want}]"},
    {"not-published", "no published build for this platform uses it"},
    {"not-told-apart", "the application cannot distinguish {gpu} from {gpus}"},
    {"platform-not-in-profile", "the application's profile does not know[ {platform}]"},
    {"arch-not-in-build",
     "the build has no kernels for its architecture[ {have}][, only for {need}][, only for "
     "{want}]"},
    {"reported-failed", "the application tried it and failed[: {detail}]"},

    // Requirements of a variant.
    {"fact-unknown", "not known[: {predicate}][ (needed: {want})]"},
    {"unsupported-predicate", "it needs something that this version does not know[: {predicate}]",
     "update gpuprobe: a newer one may know it"},
    {"other-libc", "needs another C library[: {want}][, and this one is {have}]"},
    {"glibc-too-old",
     "glibc is too old[: it is {have}, but {need} is needed][: it is {have}, but {want} is "
     "needed]"},
    {"kernel-too-old",
     "the kernel is too old[: it is {have}, but {need} is needed][: it is {have}, but {want} is "
     "needed]"},
    {"cpu-too-old",
     "the CPU is too old[: {want} is needed][: {need} is needed][, and it is {have}]"},
    {"cpu-feature-missing", "the CPU lacks {missing}"},
    {"library-missing", "not installed: {missing}[, which {build} needs]"},
    {"library-not-listed", "it is not known whether {library} is installed[, which {build} needs]"},
    {"bundled",
     "the application bundles its own libraries; this machine's are missing or did not answer"},
    {"other-l4t", "needs a Jetson with L4T {want}[, and this one has {have}]"},
    {"too-few-gpus", "it needs {need} GPUs, and can use {have} of this machine's"},
    {"too-little-host-memory",
     "the machine has too little memory[: {have:size}, but {want:size} is needed]"},
    {"backend-not-usable", "{want} cannot be used on it"},
    {"other-kind", "for another kind of GPU[ than {have}][: {want}]"},
    {"ptx-needs-newer-driver",
     "the driver cannot compile the build's code[: it knows CUDA {driver_cuda}, but the code is "
     "for {toolkit}][ (PTX {ptx})]"},
    {"built-for-older", "built for an older version[: it is {have}, but {want} is needed]"},
    {"cuda-version-unfit",
     "the driver's CUDA version does not fit[: it is {have}, but {want} is needed]"},
    {"rocm-version-unfit", "the ROCm version does not fit[: it is {have}, but {want} is needed]"},
    {"vulkan-loader-too-old",
     "the Vulkan loader is too old[: it is {have}, but {need} is needed][: it is {have}, but "
     "{want} is needed]"},
    {"vulkan-too-old",
     "its Vulkan version is too old[: it is {have}, but {need} is needed][: it is {have}, but "
     "{want} is needed]"},
    {"vulkan-feature-missing", "its Vulkan lacks these features: {missing}"},
    {"vulkan-extension-missing", "its Vulkan lacks these extensions: {missing}"},
    {"stale-document", "the data file '{document}' has expired[ on {expired}]"},
    {"superseded-document",
     "version {newer} of '{document}' is known; its data file describes an older one[: {version}]"},
    {"rules-too-old", "the manifest needs newer rules[: {need}, but these are {have}]",
     "update gpuprobe"},
    {"no-such-variant", "{word} is neither a variant nor a family"},
    {"platform-not-offered", "there are builds only for {want}[, and this machine is {have}]"},
    {"platform-unknown",
     "the platform of this machine is not known ({unknown}); there are builds for {want}"},
    {"gpus-left-out", "not all GPUs were considered[: {count} were left out]"},

    // About the report itself.
    {"profile-ignored", "the application profile {file} is ignored[: {problem}]"},
    {"knowledge-ignored", "the knowledge in {file} is ignored[: {problem}]"},
    {"no-hotplug", "hardware changes are not noticed[: {problem}]"},
    {"override-set", "an override is set for {application}", "", "gpuprobectl override list"},
    {"state-not-kept", "the {what} cannot be kept on disk[: {problem}]",
     "free some disk space, or allow the daemon to write to its state folder"},
    {"state-ignored", "the {what} could not be read and were set aside[: {problem}]"},
};

}  // namespace gpuprobe::inline explain
