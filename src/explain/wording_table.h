// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain/explain.h"

namespace gpuprobe::inline explain {

/// The English message for a reason's code. `sentence` and `fix` are templates (base/text.h), in
/// which "{key}" is replaced by the member `key` of the reason's detail. "{key:size}" formats
/// bytes, "{key:rate}" a score, "{key:time}" microseconds since the epoch, "{key:vendor}" a
/// vendor's id, "{key:harm}" how a driver failed, "{key:number}" the number at the end of a string,
/// and "{key:why}" and "{key:fix}" the reasons that are nested in the reason.
struct Wording {
    std::string_view code;
    std::string_view sentence;
    /// The fix for a reason, if the fix is the same on all machines. The fix is empty if there is
    /// no fix, or if a cause in data/knowledge/causes covers the code; such a cause contains a fix
    /// for each kind of machine.
    std::string_view fix = {};
    /// The command that carries out `fix`; screens show it after the text of `fix`.
    std::string_view command = {};
};

/// The wordings of all reasons, grouped by subject. A sentence begins with a lower-case letter and
/// has no full stop, because screens show it after the name of an API or the id of a GPU.
inline constexpr Wording kWordings[] = {
    // Reasons about how a probe ended.
    {"driver-crashed", "the driver crashed during the probe[ ({note})]"},
    {"driver-timed-out", "the driver did not answer in time[ ({note})]"},
    {"driver-failed", "the driver failed during the probe[ ({note})]"},
    {"api-refused", "[{call} failed|the driver returned an error][ (error {code})]"},
    {"driver-missing", "the driver for this API is not installed[ ({note})]"},
    {"loader-missing", "the library for this API is not installed[ ({note})]"},
    {"stub-library", "only a stub of the driver library is installed"},
    {"driver-not-loaded", "the kernel driver is not loaded"},
    {"system-not-ready", "CUDA reports that the system is not ready"},
    {"not-listed", "the driver does not list this GPU"},
    {"no-gpu", "this machine has no suitable GPU"},
    {"no-accelerator", "this machine has no accelerator for this backend"},
    {"no-device", "the driver lists no device"},
    {"mig-without-graphics", "graphics APIs do not work while MIG mode is enabled"},
    {"mig-without-compute-instance",
     "MIG mode is enabled, but no GPU instance has a compute instance"},
    {"mig-without-instance", "MIG mode is enabled, but no MIG instance is visible here"},
    {"one-instance-listed",
     "because of MIG, the driver lists this device only to a process that selects the device by "
     "UUID"},
    {"inconclusive", "the driver should list this GPU but does not"},
    {"ambiguous", "the driver lists a device that could be this GPU or another GPU"},
    {"skipped", "the probe was skipped"},
    {"not-probed", "not probed yet", "probe the drivers", "gpuprobectl probe"},
    {"asleep", "not probed, because a probe would wake a suspended GPU[: {device}]"},
    {"quarantined", "the driver is in quarantine[ until {until_usec:time}][: {why:harm}]"},
    {"unstable", "the driver's answers have been inconsistent since {since_usec:time}"},
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

    // Reasons about test computations.
    {"miscomputed",
     "the device computes wrong results[: {wrong_words} of {words} values are wrong]"},
    {"not-computing", "the test computation did not succeed: {result}[ ({note})]"},
    {"stage-not-offered", "this API only provides information and cannot be used for compute"},
    {"device-not-found", "the driver no longer lists the device[: {device}]", "probe the drivers",
     "gpuprobectl probe"},
    {"no-compute-queue", "the device has no compute queue"},
    {"compiler-missing", "the driver's compiler is missing[ ({call})]"},
    {"build-failed", "the driver's compiler rejected the test computation[ ({call})]"},
    {"out-of-memory",
     "too little memory for a context and a buffer[ (have {have:size}, need {need:size})]"},
    {"dispatch-timed-out", "the test computation did not finish in time"},
    {"device-lost", "the GPU was lost during the test computation"},
    {"too-slow", "even the smallest test computation takes too long for a measurement"},
    {"busy", "other programs are using the GPU[: {percent}% of the time]", "measure anyway",
     "gpuprobectl bench --force"},
    {"on-battery", "the machine is running on battery", "measure anyway",
     "gpuprobectl bench --force"},
    {"not-enough-memory", "too little memory is free[ (have {free:size}, need {need:size})]"},

    // Reasons about hardware and kernel drivers.
    {"vendor-mismatch",
     "[works only on {needs:vendor} GPUs, not on {have:vendor} GPUs|works only on {needs:vendor} "
     "GPUs|does not work on {have:vendor} GPUs|not for GPUs from this vendor]"},
    {"display-only", "this GPU only drives displays"},
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
    {"uvm-missing", "CUDA needs the device node /dev/nvidia-uvm, which is missing"},
    {"lost", "the GPU no longer responds"},
    {"wedged", "the kernel driver could not recover the GPU after an error"},
    {"unhealthy", "the GPU has a problem[: {health}]"},
    {"joined-weakly", "the device was matched to this GPU only by vendor and model"},
    {"conflict", "two drivers report conflicting data about one device"},
    {"device-error", "the driver could not access one of its devices"},
    {"too-many-devices",
     "{driver} lists {listed} {api} devices, and {left_out} of them are ignored"},
    {"isa-mismatch", "ROCm reports {reported} for the GPU, but the kernel driver reports {kernel}"},
    {"memory-mismatch", "two sources report different memory sizes for this GPU"},
    {"implausible", "{source} reports an impossible memory size[: {bytes:size}]"},

    // Reasons about nodes and permissions.
    {"no-permission", "no permission to open {node}[ (group {group})]"},
    {"prober-no-permission", "the daemon has no permission to open {node}[ (group {group})]"},
    {"missing", "does not exist"},
    {"node-missing",
     "{node} does not exist[ in this {container} container, although the kernel lists the device]"},
    {"device-denied", "a device control group denies access to {node}"},

    // Reasons about what an API supports on a device.
    {"compute-prohibited", "the GPU's compute mode prohibits compute programs"},
    {"no-compute-device", "the device cannot be used for compute"},
    {"not-usable", "[{backend}|the backend] does not work on this GPU[: {reasons:why}]",
     "[{reasons:fix}]"},
    {"webgpu-unknown", "it is unknown whether Vulkan on this GPU meets the WebGPU requirements"},
    {"webgpu-features", "Vulkan lacks features that WebGPU needs[: {missing}]"},
    {"software-rasterizer", "[{name}|the device] is a software rasterizer, not a GPU"},

    // Reasons why an application or a request excludes a candidate.
    {"not-built", "the application was built without this backend"},
    {"not-in-profile-for-vendor",
     "the application does not use this backend on[ {vendor:vendor}] GPUs"},
    {"denied", "excluded by the request"},
    {"not-requested",
     "[the request allows only {requested}|the request asks for another backend, variant or GPU]"},
    {"integrated-not-allowed", "the application does not use integrated GPUs"},
    {"integrated-not-enabled",
     "the application uses integrated GPUs only if an environment variable enables them",
     "start the application with {variables} in its environment"},
    {"discrete-preferred", "a discrete GPU is preferred[: {gpu}]"},
    {"less-preferred",
     "the application prefers a GPU or backend that meets the requirement {requirement}"},
    {"cpu-forbidden", "the application does not run on the CPU"},
    {"strict", "the request does not accept the CPU as a fallback"},
    {"known-bad", "{text}"},
    {"unsound",
     "this backend is known to crash or compute wrong results here, so {backend} is preferred"},
    {"not-measured", "the speed of this candidate has not been measured", "measure the speed",
     "gpuprobectl bench"},
    {"slower-than-cpu",
     "slower than the CPU when measured (score {score:rate}, CPU {cpu_score:rate})"},
    {"not-verified",
     "the results[ with {backend}] have not been verified[: the result of the check is {result}]",
     "verify the results", "gpuprobectl probe --stage=verify"},
    {"unknown-not-chosen", "not chosen, because it is unknown whether this candidate works"},
    {"too-little-memory",
     "too little memory[ (have {have:size}, need {need:size})][ (have {have:size}, need "
     "{want:size})]"},
    {"memory-unknown", "the GPU's memory size is unknown[ (need {need:size})]"},
    {"free-unknown",
     "the amount of free memory is unknown, so the plan uses the {used} memory size"},
    {"buffer-limit", "a single buffer is limited to {have:size} with {backend}"},
    {"buffer-too-large",
     "the model needs a buffer of {need:size}, but a buffer is limited to {have:size} with "
     "{backend}"},
    {"window-ignored",
     "it is unknown which layers of a[ {architecture}] model have a sliding window, so the plan "
     "uses full attention for all layers"},
    {"requirement-unmet", "the requirement {requirement} is not met[ (have {have})]"},
    {"requirement-unknown", "it is unknown whether the requirement {requirement} is met",
     "probe the drivers", "gpuprobectl probe"},
    {"switched-off", "the request excludes all GPUs"},
    {"simulated", "this GPU is simulated, as requested"},
    {"hidden-by-environment", "{variable}={value} in the caller's environment hides {gpu}",
     "start the program with the environment from this answer, or without {variable}"},
    {"gpu-unused",
     "{gpu} will not be used[ by {by}]: [{reasons:why}|no backend or variant supports this GPU]",
     "[{reasons:fix}]"},
    {"better-if-built",
     "{backend} would be preferred on {gpu}, but no published build with this backend works here[: "
     "{reasons:why}]",
     "[{reasons:fix}]"},
    {"no-published-variant",
     "no published build is known to work here, so this answer assumes that you build from "
     "source[: {reasons:why}]"},
    {"other-version", "this build installs version {have}[, not the latest version {want}]"},
    {"not-published", "no published build for this platform uses this backend"},
    {"not-hidden",
     "the application can still use {gpus} through {api}, because {api} has no environment "
     "variable for hiding GPUs"},
    {"not-told-apart", "the application cannot distinguish {gpu} from {gpus}"},
    {"platform-not-in-profile",
     "the application's data file does not cover[ {platform}| this platform]"},
    {"arch-not-in-build",
     "the build has no kernels for the GPU's architecture[ {have}][ (required: {need})][ (only "
     "for {want})]"},
    {"reported-failed", "the application reported a failure[: {detail}]"},

    // Reasons about the requirements of a variant.
    {"fact-unknown", "a required fact is unknown[: {predicate}][ (required: {want})]"},
    {"unsupported-predicate",
     "this version of gpuprobe does not support a requirement of the variant[: {predicate}]",
     "update gpuprobe"},
    {"other-libc", "the build needs another C library[: {want}][, not {have}]"},
    {"glibc-too-old", "glibc is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"kernel-too-old",
     "the kernel is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"python-too-old",
     "the version of Python is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"python-too-new",
     "the version of Python is too new[ (have {have}, need {need} or older)][ (have {have}, need "
     "{want} or "
     "older)]"},
    {"cpu-too-old", "the CPU is too old[: need {want}][: need {need}][, have {have}]"},
    {"cpu-feature-missing", "the CPU lacks {missing}"},
    {"library-missing", "not installed: {missing}[ (needed by {build})]"},
    {"library-not-listed", "it is unknown whether {library} is installed[ (needed by {build})]"},
    {"bundled",
     "the application uses its bundled libraries, because the host's libraries are missing or "
     "could not be probed"},
    {"other-l4t", "the build needs a Jetson with L4T {want}[ (have {have})]"},
    {"too-few-gpus", "{need} GPUs are needed, but only {have} can be used"},
    {"too-little-host-memory", "too little system memory[ (have {have:size}, need {want:size})]"},
    {"backend-not-usable", "{want} does not work on this GPU"},
    {"other-kind", "the build is for another kind of GPU[: {want}][, not {have}]"},
    {"ptx-needs-newer-driver",
     "the driver is too old for the build's PTX code[: the driver supports CUDA {driver_cuda}, "
     "but the code is for CUDA {toolkit}][ (PTX {ptx})]"},
    {"image-needs-newer-driver",
     "the container image requires {want} (NVIDIA_REQUIRE_CUDA)[, but the driver supports CUDA "
     "{have}]"},
    {"built-for-older",
     "the installed version is newer than the build supports[ (have {have}, need {want})]"},
    {"cuda-version-unfit",
     "the build does not support the driver's CUDA version[ (have {have}, need {want})]"},
    {"rocm-version-unfit",
     "the build does not support the installed ROCm version[ (have {have}, need {want})]"},
    {"vulkan-loader-too-old",
     "the Vulkan loader is too old[ (have {have}, need {need})][ (have {have}, need {want})]"},
    {"vulkan-too-old",
     "the GPU's Vulkan version is too old[ (have {have}, need {need})][ (have {have}, need "
     "{want})]"},
    {"vulkan-feature-missing", "the Vulkan driver lacks these features: {missing}"},
    {"vulkan-extension-missing", "the Vulkan driver lacks these extensions: {missing}"},
    {"stale-document", "the data file '{document}' expired[ on {expired}]"},
    {"superseded-document",
     "version {newer} of {document} exists[, but this answer is for version {version}]"},
    {"rules-too-old",
     "the manifest needs newer rules than this version of gpuprobe supports[ (have {have}, need "
     "{need})]",
     "update gpuprobe"},
    {"no-such-variant", "{word} is neither a variant nor a family"},
    {"platform-not-offered", "builds exist only for {want}[, not for {have}]"},
    {"platform-unknown",
     "the platform of this machine is unknown ({unknown}), and builds exist only for {want}",
     "if you know the platform, add it, for example: --assume=platform=linux-x86_64,glibc=2.39"},
    {"closest-variant", "the closest variant is {variant}: {reasons:why}", "[{reasons:fix}]"},
    {"gpus-left-out", "some GPUs were not considered[ ({count})]"},
    {"reasons-left-out", "the reasons against {count} variants do not fit into a D-Bus message",
     "send the request over the socket instead of D-Bus"},

    // Reasons about the report itself.
    {"application-ignored", "the application data file {file} is ignored[: {problem}]"},
    {"knowledge-ignored", "the data in {file} is ignored[: {problem}]"},
    {"no-hotplug", "hardware changes are not detected[: {problem}]"},
    {"override-set", "an override is set for {application}", "", "gpuprobectl override list"},
    {"state-not-kept", "the {what} cannot be saved to disk[: {problem}]",
     "free some disk space, or allow the daemon to write to its state folder"},
    {"state-ignored", "the {what} could not be read and are ignored[: {problem}]"},
};

/// The message about an unknown fact, for the codes fact-unknown and requirement-unknown.
struct UnknownFact {
    std::string_view fact;  ///< key of the fact (policy/fact_table.cpp)
    std::string_view sentence;
    /// The fix for an unknown fact about the host, because a probe does not find such facts. For an
    /// unknown fact about a GPU, the fix of the code applies.
    std::string_view fix = {};
};

inline constexpr UnknownFact kUnknownFacts[] = {
    {"libc", "the C library is unknown[ (required: {want})]",
     "if you know the version of glibc, add --assume=glibc=VERSION"},
    {"glibc", "the version of glibc is unknown[ (required: {want})]",
     "if you know the version of glibc, add --assume=glibc=VERSION"},
    {"kernel", "the version of the kernel is unknown[ (required: {want})]",
     "if you know the version of the kernel, add --assume=kernel=VERSION"},
    {"python", "the version of Python is unknown[ (required: {want})]",
     "if you know the version of Python, add --assume=python=VERSION"},
    {"cpu-level", "the instruction-set level of the CPU is unknown[ (required: {want})]",
     "if you know the instruction-set level of the CPU, add --assume=cpu-level=LEVEL"},
    {"cpu-feature", "the features of the CPU are unknown[ (required: {want})]"},
    {"library", "the installed libraries are unknown[ (required: {want})]"},
    {"l4t", "the version of L4T is unknown[ (required: {want})]"},
    {"host-memory", "the size of the machine's memory is unknown[ (required: {want:size})]"},
    {"platform", "the platform is unknown[ (required: {want})]",
     "if you know the platform, add it, for example: --assume=platform=linux-x86_64"},
    {"arch", "the architecture of the CPU is unknown[ (required: {want})]",
     "if you know the architecture of the CPU, add it, for example: --assume=arch=x86_64"},
    {"os", "the operating system is unknown[ (required: {want})]",
     "if you know the operating system, add it, for example: --assume=os=linux"},
    {"usable", "it is unknown whether {want} works on this GPU"},
    {"vendor", "the GPU's vendor is unknown[ (required: {want})]"},
    {"form", "the kind of this GPU is unknown[ (required: {want})]"},
    {"kind", "the kind of the GPU is unknown[ (required: {want})]"},
    {"driver", "the version of the GPU's driver is unknown[ (required: {want})]"},
    {"kernel-driver", "the GPU's kernel driver is unknown[ (required: {want})]"},
    {"compute-capability", "the GPU's compute capability is unknown[ (required: {want})]"},
    {"cuda", "the driver's CUDA version is unknown[ (required: {want})]"},
    {"gfx", "the GPU's gfx target is unknown[ (required: {want})]"},
    {"gfx-target", "the features of the GPU's gfx target are unknown[ (required: {want})]"},
    {"rocm", "the version of ROCm is unknown[ (required: {want})]"},
    {"vulkan", "the GPU's Vulkan version is unknown[ (required: {want})]"},
    {"vulkan-loader", "the version of the Vulkan loader is unknown[ (required: {want})]"},
    {"vulkan-feature", "the GPU's Vulkan features are unknown[ (required: {want})]"},
    {"vulkan-extension", "the GPU's Vulkan extensions are unknown[ (required: {want})]"},
    {"intel-ip", "the GPU's Intel IP version is unknown[ (required: {want})]"},
};

}  // namespace gpuprobe::inline explain
