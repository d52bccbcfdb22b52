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
    {"driver-crashed", "the driver crashed during the probe[ ({note})]"},
    {"driver-timed-out", "the driver did not answer in time[ ({note})]"},
    {"driver-failed", "the driver failed during the probe[ ({note})]"},
    {"api-refused", "[{call} failed|the driver returned an error][ (error {code})]"},
    {"driver-missing", "the API's driver is not installed[ ({note})]"},
    {"loader-missing", "the API's library is not installed[ ({note})]"},
    {"stub-library", "only a stub of the driver library is installed"},
    {"driver-not-loaded", "the kernel driver is not loaded"},
    {"system-not-ready", "CUDA reports that the system is not ready"},
    {"not-listed", "the driver does not list this GPU"},
    {"no-gpu", "this machine has no suitable GPU"},
    {"no-device", "the driver lists no device"},
    {"mig-without-graphics", "graphics APIs do not work while MIG is on"},
    {"mig-without-instance", "MIG is on, but programs here see no MIG instance"},
    {"one-instance-listed",
     "the driver shows each process only one MIG instance, selected by its UUID"},
    {"inconclusive", "the driver should list this GPU but does not"},
    {"ambiguous", "the driver lists a device that could be this GPU or another one"},
    {"skipped", "the probe was skipped"},
    {"not-probed", "not probed yet", "probe the drivers", "gpuprobectl probe"},
    {"asleep", "a probe would wake a suspended GPU[: {device}]"},
    {"quarantined", "the driver is in quarantine[ until {until_usec:time}][: {why:harm}]"},
    {"unstable", "the driver's answers have kept changing since {since_usec:time}"},
    {"worker-not-started", "the probe process could not be started[: {problem}]"},
    {"worker-lost", "the probe process ended before the driver answered"},
    {"worker-stuck", "the last probe process is stuck in the kernel"},
    {"worker-output", "the driver printed: {lines}"},
    {"malformed-answer", "the probe process sent a malformed answer[: {problem}]"},
    {"malformed-manifest", "the driver's manifest is malformed"},
    {"unreadable", "a folder or file cannot be read[: {note}]"},
    {"unreadable-manifest", "the driver's manifest cannot be read"},
    {"nvidia-icd-needs-egl",
     "the NVIDIA driver works only through {library}, but its manifest names the GLX library"},

    // How computing ended.
    {"miscomputed", "the device computes wrong results[: {wrong_words} of {words} words]"},
    {"not-computing", "the test computation ended with: {result}[ ({note})]"},
    {"stage-not-offered", "this API only provides information and cannot compute"},
    {"device-not-found", "the driver no longer lists the device[: {device}]", "probe the drivers",
     "gpuprobectl probe"},
    {"no-compute-queue", "the device has no compute queue"},
    {"compiler-missing", "the driver's compiler is missing[ ({call})]"},
    {"build-failed", "the driver's compiler rejected the test computation[ ({call})]"},
    {"out-of-memory",
     "too little memory for a context and a buffer[ (have {have:size}, need {need:size})]"},
    {"dispatch-timed-out", "the test computation did not finish in time"},
    {"device-lost", "the GPU was lost during the test computation"},
    {"too-slow", "even the smallest test computation takes too long to measure"},
    {"busy", "other programs use the GPU[: {percent}% of the time]", "measure anyway",
     "gpuprobectl bench --force"},
    {"on-battery", "the machine is running on battery", "measure anyway",
     "gpuprobectl bench --force"},
    {"not-enough-memory", "too little memory is free[ (have {free:size}, need {need:size})]"},

    // Hardware and kernel drivers.
    {"vendor-mismatch",
     "[only for {needs:vendor} GPUs, not {have:vendor} GPUs|only for {needs:vendor} GPUs|not for "
     "{have:vendor} GPUs|not for GPUs from this vendor]"},
    {"display-only", "this GPU only drives displays and cannot compute"},
    {"no-driver", "no kernel driver is bound to the device"},
    {"driver-mismatch",
     "the kernel module[ ({kernel})] and the driver libraries[ ({userspace})] have different "
     "versions"},
    {"driver-mixed", "{library} has version {version}, but libcuda.so.1 has version {cuda}"},
    {"driver-too-old",
     "the driver is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"kernel-driver-unfit", "{api} does not work with the kernel driver {driver}"},
    {"device-not-ready", "the driver reports that the device is not ready[: {state}]"},
    {"passthrough", "the GPU is reserved for virtual machines[ by {driver}]"},
    {"uvm-missing", "the device node /dev/nvidia-uvm is missing, and CUDA needs it"},
    {"lost", "the GPU no longer responds"},
    {"wedged", "the kernel driver has given up on the GPU"},
    {"unhealthy", "the GPU has a problem[: {health}]"},
    {"joined-weakly", "the device was matched to this GPU only by vendor and model"},
    {"conflict", "two drivers report conflicting data about one device"},
    {"device-error", "the driver could not access one of its devices"},
    {"too-many-devices",
     "{driver} lists {listed} {api} devices, and {left_out} of them are ignored"},
    {"isa-mismatch", "ROCm reports {reported} for the GPU, but the kernel driver reports {kernel}"},
    {"memory-mismatch", "two sources report different sizes of the GPU's memory"},
    {"implausible", "{source} reports an impossible memory size[: {bytes:size}]"},

    // Nodes and permissions.
    {"no-permission", "no permission to open {node}[ (group {group})]"},
    {"prober-no-permission", "the daemon has no permission to open {node}[ (group {group})]"},
    {"missing", "does not exist"},
    {"node-missing",
     "{node} does not exist[ in this {container} container, although the kernel has the device]"},
    {"device-denied", "a device control group denies access to {node}"},

    // An API's abilities on a device.
    {"compute-prohibited", "the GPU's compute mode allows no programs"},
    {"no-compute-device", "the device cannot compute"},
    {"not-usable", "the backend does not work on this GPU"},
    {"webgpu-unknown", "unknown whether Vulkan here meets WebGPU's requirements"},
    {"webgpu-features", "Vulkan lacks features that WebGPU needs[: {missing}]"},
    {"software-rasterizer", "[{name}|the device] is a software rasterizer, not a GPU"},

    // Ruled out by a profile or a request.
    {"not-built", "the application was built without this backend"},
    {"not-in-profile-for-vendor",
     "the application does not use this backend on[ {vendor:vendor}] GPUs"},
    {"denied", "excluded by the request"},
    {"not-requested", "[the request allows only {requested}|the request asks for something else]"},
    {"integrated-not-allowed", "the application does not use integrated GPUs"},
    {"integrated-not-enabled", "the application uses integrated GPUs only if that is enabled",
     "start the application with {variables} in its environment"},
    {"discrete-preferred", "a discrete GPU is preferred[: {gpu}]"},
    {"cpu-forbidden", "the application does not run on the CPU"},
    {"strict", "the request does not accept the CPU as a fallback"},
    {"known-bad", "{text}"},
    {"unsound", "{backend} is preferred, because it is not known to crash here"},
    {"not-measured", "the speed of this candidate has not been measured", "measure the speed",
     "gpuprobectl bench"},
    {"slower-than-cpu", "measured slower than the CPU (score {score:rate}, CPU {cpu_score:rate})"},
    {"not-verified",
     "the results[ with {backend}] have not been verified[: the check ended with {result}]",
     "verify the results", "gpuprobectl probe --stage=verify"},
    {"unknown-not-chosen", "not chosen, because it is unknown whether this candidate works"},
    {"too-little-memory",
     "too little memory[ (have {have:size}, need {need:size})][ (have {have:size}, need "
     "{want:size})]"},
    {"memory-unknown", "the GPU's memory size is unknown[ (need {need:size})]"},
    {"free-unknown", "the amount of free memory is unknown, so the plan uses the {used} memory"},
    {"buffer-limit", "a single buffer is limited to {have:size} with {backend}"},
    {"window-ignored",
     "unknown which layers of a[ {architecture}] model have a sliding window, so all count as full "
     "attention"},
    {"requirement-unmet", "the requirement {requirement} is not met[ (have {have})]"},
    {"requirement-unknown", "unknown whether the requirement {requirement} is met",
     "probe the drivers", "gpuprobectl probe"},
    {"switched-off", "the request excludes all GPUs"},
    {"simulated", "simulated, as requested"},
    {"hidden-by-environment", "{variable}={value} in the caller's environment hides {gpu}",
     "start the program with the environment from this answer, or without {variable}"},
    {"gpu-unused",
     "{gpu} will not be used[ by {by}]: [{reasons:why}|no backend or variant is made for it]",
     "[{reasons:fix}]"},
    {"better-if-built",
     "{backend} would be preferred on {gpu}, but no published build can use it here[: "
     "{reasons:why}]",
     "[{reasons:fix}]"},
    {"no-published-variant",
     "no published build is known to work here, so this answer assumes that you build from "
     "source[: {reasons:why}]"},
    {"other-version", "this build installs version {have}[, not the latest version {want}]"},
    {"not-published", "no published build for this platform uses this backend"},
    {"not-told-apart", "the application cannot distinguish {gpu} from {gpus}"},
    {"platform-not-in-profile",
     "the application's profile does not cover[ {platform}| this platform]"},
    {"arch-not-in-build",
     "the build has no kernels for the GPU's architecture[ {have}][, only for {need}][, only for "
     "{want}]"},
    {"reported-failed", "the application reported a failure[: {detail}]"},

    // Requirements of a variant.
    {"fact-unknown", "unknown[: {predicate}][ (need {want})]"},
    {"unsupported-predicate",
     "this version of gpuprobe does not know a requirement of the variant[: {predicate}]",
     "update gpuprobe"},
    {"other-libc", "the build needs another C library[: {want}][, not {have}]"},
    {"glibc-too-old", "glibc is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"kernel-too-old",
     "the kernel is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"cpu-too-old", "the CPU is too old[: need {want}][: need {need}][, have {have}]"},
    {"cpu-feature-missing", "the CPU lacks {missing}"},
    {"library-missing", "not installed: {missing}[ (needed by {build})]"},
    {"library-not-listed", "unknown whether {library} is installed[ (needed by {build})]"},
    {"bundled",
     "the application uses its bundled libraries, because the host's libraries are missing or did "
     "not respond"},
    {"other-l4t", "the build needs a Jetson with L4T {want}[ (have {have})]"},
    {"too-few-gpus", "{need} GPUs are needed, but only {have} can be used"},
    {"too-little-host-memory", "too little system memory[ (have {have:size}, need {want:size})]"},
    {"backend-not-usable", "{want} does not work on this GPU"},
    {"other-kind", "the build is for another kind of GPU[ than {have}][: {want}]"},
    {"ptx-needs-newer-driver",
     "the driver is too old for the build's PTX code[: it supports CUDA {driver_cuda}, but the "
     "code is for {toolkit}][ (PTX {ptx})]"},
    {"image-needs-newer-driver",
     "the container image requires {want} (NVIDIA_REQUIRE_CUDA)[, but the driver has CUDA {have}]"},
    {"built-for-older", "the build supports only older versions[ (have {have}, need {want})]"},
    {"cuda-version-unfit", "the driver's CUDA version does not match[ (have {have}, need {want})]"},
    {"rocm-version-unfit", "the ROCm version does not match[ (have {have}, need {want})]"},
    {"vulkan-loader-too-old",
     "the Vulkan loader is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"vulkan-too-old",
     "the GPU's Vulkan version is too old[ (have {have}, need {need})][ (have {have}, need "
     "{want})]"},
    {"vulkan-feature-missing", "the Vulkan driver lacks these features: {missing}"},
    {"vulkan-extension-missing", "the Vulkan driver lacks these extensions: {missing}"},
    {"stale-document", "the data file '{document}' expired[ on {expired}]"},
    {"superseded-document",
     "the data file '{document}' does not cover version {newer}[, only {version}]"},
    {"rules-too-old", "the manifest needs newer rules[ (have {have}, need {need})]",
     "update gpuprobe"},
    {"no-such-variant", "{word} is neither a variant nor a family"},
    {"platform-not-offered", "builds exist only for {want}[, not for {have}]"},
    {"platform-unknown",
     "the platform of this machine is unknown ({unknown}), and builds exist only for {want}"},
    {"gpus-left-out", "some GPUs were not considered[ ({count})]"},

    // About the report itself.
    {"profile-ignored", "the application profile {file} is ignored[: {problem}]"},
    {"knowledge-ignored", "the data in {file} is ignored[: {problem}]"},
    {"no-hotplug", "hardware changes are not detected[: {problem}]"},
    {"override-set", "an override is set for {application}", "", "gpuprobectl override list"},
    {"state-not-kept", "the {what} cannot be saved to disk[: {problem}]",
     "free some disk space, or allow the daemon to write to its state folder"},
    {"state-ignored", "the {what} could not be read and are ignored[: {problem}]"},
};

}  // namespace gpuprobe::inline explain
