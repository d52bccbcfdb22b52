// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

/// Every reason code with its subject, effect and meaning. docs/reasons.md is generated from these
/// rows.
namespace gpuprobe::inline report {

/// Subject of a reason.
enum class ReasonSubject : std::uint8_t {
    Driver,       ///< a driver, its libraries or its manifest
    Worker,       ///< the worker process that probes drivers
    Permission,   ///< device nodes and their permissions
    Hardware,     ///< the GPU itself, or its kernel driver
    Device,       ///< one device as an API reports it
    Machine,      ///< the host: processor, memory, C library, kernel
    Policy,       ///< rules in the application's data file or a manifest
    Request,      ///< the caller's request
    Measurement,  ///< test computations on the device, and their results
    Report,       ///< how the report was made
};

/// Effect of a reason on the question "can this be used here?".
enum class ReasonEffect : std::uint8_t {
    Remarks,     ///< the answer stays the same; the reason is only information
    LeavesOpen,  ///< the answer is unknown because of this reason
    Ends,        ///< the answer is no, unless another reason leaves it open
};

/// The places in which a reason can appear: a set of flags. docs/reasons.md explains each code
/// once, in the section for the code's first flag.
enum class ReasonPlaces : std::uint16_t {
    OnView = 1U << 0U,            ///< an API's view of a GPU, or the backend on that API
    OnCandidate = 1U << 1U,       ///< a candidate when choosing between backends
    OnPlan = 1U << 2U,            ///< the plan for a model, or a GPU in that plan
    OnTrial = 1U << 3U,           ///< a verification or a measurement
    OnVariant = 1U << 4U,         ///< a candidate variant of a recommendation
    OnRecommendation = 1U << 5U,  ///< a warning of a recommendation
    OnGpu = 1U << 6U,             ///< a finding on a GPU
    OnReport = 1U << 7U,          ///< a note of the report
    OnNode = 1U << 8U,            ///< the reason why a device node cannot be used
};

/// Properties of a reason that other components depend on: a set of flags.
enum class ReasonTraits : std::uint16_t {
    None = 0,
    /// The driver itself refused, so the answer is no, even if other reasons leave the answer open.
    Refusal = 1U << 0U,
    /// The driver gave no answer, so a closed node may or may not be the cause.
    Silence = 1U << 1U,
    /// As a finding on a GPU, the reason rules out an answer from any driver.
    Blocker = 1U << 2U,
    /// If the reason is on an API's view, it becomes a finding on the GPU too.
    DriverFault = 1U << 3U,
    /// As a finding, the reason has a specific fix and explains why drivers fail on the GPU.
    Cause = 1U << 4U,
    /// On an API's view, the reason has a specific fix and explains why that API fails.
    ViewCause = 1U << 5U,
    /// The backend is not meant for this GPU, so lists of obstacles omit the reason.
    ByNature = 1U << 6U,
    /// The driver was never called, so its earlier answers remain valid.
    Unheard = 1U << 7U,
    /// Programs cannot use the backend, but a worker can still try to compute with it.
    WorthATrial = 1U << 8U,
    /// The test computation still runs, or the device is gone: never wait for the device.
    Stuck = 1U << 9U,
    /// As a finding, the reason means that no driver is bound to the GPU, so no driver can report
    /// the GPU.
    Unserved = 1U << 10U,
    /// The driver's answers aren't reliable.
    Unreliable = 1U << 11U,
    /// The user or the request excluded the GPU, so an unused GPU is not reported as a problem.
    Wished = 1U << 12U,
    /// The build, or a rule of the program itself, excludes this GPU or host. Another build may
    /// support this GPU or host.
    ByBuild = 1U << 13U,
};

template <class E>
concept ReasonFlags = std::same_as<E, ReasonPlaces> || std::same_as<E, ReasonTraits>;
template <ReasonFlags E>
constexpr E operator|(E left, E right) {
    return static_cast<E>(static_cast<unsigned>(left) | static_cast<unsigned>(right));
}
template <ReasonFlags E>
constexpr bool includes(E set, E flag) {
    return (static_cast<unsigned>(set) & static_cast<unsigned>(flag)) != 0;
}

struct ReasonInfo {
    std::string_view code;
    ReasonSubject subject;
    ReasonEffect effect;
    ReasonPlaces places;
    /// The meaning, as Markdown for docs/reasons.md.
    const char* meaning;
    /// Explains the members of `detail`. For example, "have, need: bytes; of: the compared size"
    /// explains `have` and `need` together, and then `of`. Empty if the reason has no detail.
    const char* detail = "";
    ReasonTraits traits = ReasonTraits::None;
    /// Severity of the reason as a finding on a GPU: a higher number is more severe. 0 does not
    /// affect the GPU's health.
    std::uint8_t gravity = 0;
    /// The reason's code in the previous version, which gpuprobe still accepts but never writes.
    std::string_view alias = {};
};

/// Members in the detail of every reason that comes from a predicate on a variant or on an
/// installed build.
constexpr const char* kVariantDetail =
    "where, predicate, result, want, have, alternative, missing, build";

namespace reason_rows {

using enum ReasonSubject;
using enum ReasonEffect;
using enum ReasonPlaces;
using enum ReasonTraits;

/// Sorted by code.
inline constexpr ReasonInfo kRows[] = {
    {"ambiguous", Device, LeavesOpen, OnView | OnReport,
     "the driver lists a device that could be any of several GPUs, so gpuprobe did not assign the "
     "device to a GPU",
     "driver; api, index, gpus: present only in the report's `notes`"},
    {"api-refused", Driver, Ends, OnView | OnTrial, "an API call failed",
     "call, code; node, device, error: present only if a device node could not be opened", Refusal},
    {"application-ignored", Report, Remarks, OnReport,
     "a file in an application folder is not a valid application data file", "file, problem"},
    {"arch-not-in-build", Policy, Ends, OnCandidate | OnVariant,
     "the application's build has no kernels for the GPU's architecture",
     "have: the GPU's architecture; need: the predicate that the architecture does not satisfy",
     ByBuild},
    {"asleep", Device, LeavesOpen, OnView | OnTrial,
     "the device is suspended and was not probed, because a probe would have woken it", "device",
     Silence},
    {"backend-not-usable", Device, Ends, OnVariant, "the API does not work on the GPU"},
    {"better-if-built", Policy, Remarks, OnRecommendation,
     "the application prefers another backend, but no published variant with that backend works on "
     "this machine",
     "backend, gpu, reasons"},
    {"buffer-limit", Device, Remarks, OnPlan,
     "the driver limits a single buffer to less memory than the plan needs in total, so the "
     "program "
     "must use several buffers",
     "backend; have, need: bytes"},
    {"buffer-too-large", Device, Ends, OnPlan,
     "the largest tensor of the model is larger than the driver's limit for a buffer",
     "backend; have, need: bytes"},
    {"build-failed", Measurement, Remarks, OnTrial,
     "the driver's compiler rejected the test computation", "call, code"},
    {"built-for-older", Policy, Ends, OnVariant,
     "some software on this machine is too new for the variant", "", ByBuild},
    {"bundled", Policy, Remarks, OnCandidate,
     "the host's libraries for the API are missing or could not be probed. The application bundles "
     "its own libraries, so it needs only the kernel driver and permission to open the device "
     "nodes",
     "api"},
    {"busy", Measurement, Remarks, OnTrial, "other programs use the GPU more than 10% of the time",
     "percent: the share of time; source: where gpuprobe read that share"},
    {"closest-variant", Policy, Remarks, OnRecommendation,
     "no variant fits, and this variant needs the fewest changes to fit",
     "variant; reasons: why the variant does not fit"},
    {"compiler-missing", Driver, Remarks, OnTrial,
     "the driver's compiler is not installed. In a container, the usual cause is a driver library "
     "that was not passed into the container. The GPU itself may work",
     "call, code"},
    {"compute-prohibited", Hardware, Ends, OnView,
     "the GPU's compute mode prohibits compute programs"},
    {"conflict", Report, Remarks, OnReport,
     "two drivers report contradictory data about the same device",
     "api, driver, index: identify the driver's record; gpu, key: the GPU that the record was "
     "matched to, and the key that matched; vendor_id: the vendor in the record"},
    {"cpu-feature-missing", Machine, Ends, OnVariant,
     "the processor lacks a feature that the variant needs", "", ByBuild},
    {"cpu-forbidden", Policy, Ends, OnCandidate, "the application's data file forbids the CPU"},
    {"cpu-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the processor's instruction-set level is lower than required", "have, need", ByBuild},
    {"cuda-version-unfit", Driver, Ends, OnVariant,
     "the driver's CUDA version is outside the range that the variant supports"},
    {"denied", Request, Ends, OnCandidate | OnVariant,
     "the request excludes this backend, GPU or variant",
     "backend, gpu: the excluded backend or GPU; variant", Wished},
    {"device-denied", Permission, Ends, OnView | OnGpu,
     "the device node's mode allows the worker to open the node, but a device control group denies "
     "access: the container's control group, or the control group from `DeviceAllow=` in a systemd "
     "unit",
     "node, device, container", Blocker | Cause, 40},
    {"device-error", Hardware, Remarks, OnReport, "a driver lists a GPU but cannot access it",
     "api, driver, index: identify the driver's record; error: the driver's message; code: NVML's "
     "error code"},
    {"device-lost", Hardware, Remarks, OnTrial,
     "the device disappeared, or its context failed, while a test computation ran", "call, code",
     Stuck},
    {"device-not-found", Device, Remarks, OnTrial, "the driver no longer lists the device",
     "device"},
    {"device-not-ready", Hardware, Ends, OnGpu, "the driver reports that the device is not ready",
     "state", Blocker, 35},
    {"discrete-preferred", Policy, Ends, OnCandidate,
     "a discrete GPU can be used, so this integrated GPU is not chosen",
     "backend, gpu: the backend and the GPU of the first candidate with a discrete GPU"},
    {"dispatch-timed-out", Measurement, Remarks, OnTrial,
     "a test computation did not finish in time",
     "limit_usec; call, code: present only if an API call returned an error", Stuck},
    {"display-only", Hardware, Ends, OnCandidate | OnView,
     "the GPU, such as a management controller or a firmware framebuffer, only drives displays and "
     "cannot be used for compute",
     "driver", ByNature},
    {"driver-crashed", Driver, LeavesOpen, OnView | OnGpu | OnCandidate,
     "the driver crashed the process that probed it", "driver, note; api", Silence | DriverFault,
     60},
    {"driver-failed", Driver, LeavesOpen, OnView | OnGpu | OnCandidate,
     "the driver returned an error to the probe, or the probe process ended before its answer was "
     "complete",
     "driver, note; api", DriverFault, 10},
    {"driver-mismatch", Driver, Ends, OnGpu | OnView,
     "the kernel module and the driver library have different versions; to fix this, restart the "
     "machine or reload the module",
     "kernel, userspace, library: the two versions, and the path of the driver library; call, "
     "code: present if a driver reported the mismatch",
     Refusal | Blocker | Cause | ViewCause, 90},
    {"driver-missing", Driver, Ends, OnView | OnVariant,
     "the API has no driver for this GPU's vendor, or the library that the driver's manifest "
     "names is missing. For a variant, the code means that the GPU does not use the vendor's "
     "driver",
     "vendor: the GPU's vendor; driver, library, note: the manifest, the library that it names, "
     "and the error from loading that library"},
    {"driver-mixed", Driver, Remarks, OnGpu,
     "the version of an NVIDIA driver library differs from the version of libcuda.so.1",
     "version, library, cuda: the version of libcuda.so.1", None, 15},
    {"driver-not-loaded", Driver, Ends, OnView,
     "the driver library reports that the kernel module is not loaded", "call, code",
     Refusal | ViewCause},
    {"driver-timed-out", Driver, LeavesOpen, OnView | OnGpu | OnCandidate,
     "the driver did not answer in time and was killed", "driver, note; api", Silence | DriverFault,
     50},
    {"driver-too-old", Driver, Ends, OnCandidate | OnVariant,
     "the application, the request, the build or the build's toolkit requires a newer driver",
     "have, need"},
    {"fact-unknown", Device, LeavesOpen, OnVariant,
     "a fact that a requirement depends on is unknown",
     "fact: the name of the fact (a fact about the host can be assumed: `--assume`)"},
    {"free-unknown", Device, Remarks, OnPlan,
     "the GPU's free memory is unknown, so the plan uses the allocatable or physical memory size",
     "used: `allocatable` or `physical`"},
    {"glibc-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the host's glibc is older than the build needs", "have, need"},
    {"gpu-unused", Policy, Remarks, OnRecommendation,
     "the application will not use the GPU, although the request does not exclude it",
     "gpu; by: the backend or variant that needs the fewest changes to work on this GPU (missing "
     "if none supports the GPU); reasons: why that backend or variant does not work on this GPU "
     "now"},
    {"gpus-left-out", Report, Remarks, OnRecommendation, "only the best 64 GPUs were considered",
     "count: the number of GPUs that were left out"},
    {"hidden-by-environment", Machine, Remarks, OnCandidate,
     "a variable in the caller's environment hides the GPU from this backend",
     "gpu, variable, value; replaced: whether the environment in the answer sets this variable, or "
     "another variable that takes precedence over it"},
    {"image-needs-newer-driver", Driver, Ends, OnVariant,
     "the container image requires a newer driver (NVIDIA_REQUIRE_CUDA)",
     "have: the driver's CUDA version; want: the condition in the image; toolkit: the build's CUDA "
     "version"},
    {"implausible", Hardware, Remarks, OnGpu,
     "a source reports a memory size that no GPU can have: more than 4 TiB, more than 64 times the "
     "machine's memory, or more than twice the size that the kernel reports. The size is recorded "
     "only in `memory.evidence` and is not used",
     "source, what, bytes, limit"},
    {"inconclusive", Driver, LeavesOpen, OnView,
     "the driver for this GPU answered but did not list the GPU, and the cause is unknown",
     "driver"},
    {"integrated-not-allowed", Policy, Ends, OnCandidate,
     "the application excludes integrated GPUs", "", ByBuild},
    {"integrated-not-enabled", Policy, Ends, OnCandidate,
     "the application uses an integrated GPU only if certain environment variables allow it, and "
     "the "
     "caller's environment does not set them",
     "variables: the environment variables to set, each as `NAME=VALUE`"},
    {"isa-mismatch", Driver, LeavesOpen, OnView,
     "the ROCm runtime and the kernel driver report different gfx targets for the GPU, "
     "so programs may crash or compute wrong results",
     "reported, kernel"},
    {"joined-weakly", Report, Remarks, OnView,
     "the driver's record has no PCI address, so the record was matched to this GPU only by ids "
     "and memory size",
     "by"},
    {"kernel-driver-unfit", Driver, Ends, OnView,
     "the API does not work with the kernel driver that is bound to the GPU", "driver, api"},
    {"kernel-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the host's kernel is older than the build needs", "have, need"},
    {"knowledge-ignored", Report, Remarks, OnReport,
     "a data file or a bundle could not be used, so gpuprobe uses the next older version; see "
     "[Data "
     "files](data-files.md)",
     "file, problem"},
    {"known-bad", Driver, Remarks, OnCandidate | OnPlan,
     "the backend has a known fault on this kind of GPU with this kernel, driver or runtime; see "
     "[The "
     "doctor](doctor.md)",
     "cause: the id of the cause; backends; fault; text"},
    {"less-preferred", Policy, Remarks, OnCandidate,
     "the application prefers candidates that meet the requirement; this candidate does not meet "
     "the requirement, but another candidate does",
     "requirement"},
    {"library-missing", Machine, Ends, OnCandidate | OnVariant | OnView,
     "the host's dynamic linker does not find the library, and no installed build bundles it. For "
     "an API, the code means that the library through which programs decode or encode videos is "
     "missing",
     "missing"},
    {"library-not-listed", Machine, Remarks, OnCandidate,
     "the build needs a library that it does not bundle. gpuprobe does not search for this "
     "library, so it is unknown whether the library is installed",
     "library, build"},
    {"loader-missing", Driver, Ends, OnView | OnCandidate,
     "the library for the API is not installed", "driver, note; api: present only for a candidate"},
    {"lost", Hardware, Ends, OnGpu, "the GPU no longer responds", "", None, 110},
    {"malformed-answer", Worker, LeavesOpen, OnView | OnTrial,
     "the probe process sent malformed data, or a reason that this version of gpuprobe does not "
     "know",
     "problem"},
    {"malformed-manifest", Driver, LeavesOpen, OnView,
     "a driver's manifest was read but is malformed"},
    {"memory-mismatch", Hardware, Remarks, OnGpu,
     "two sources report different memory sizes for this GPU",
     "kept: the size that gpuprobe uses, with its source; other: the other size, with its source"},
    {"memory-unknown", Device, LeavesOpen, OnCandidate | OnPlan,
     "a minimum memory size is required, but the allocatable memory size is unknown",
     "need: bytes"},
    {"mig-without-compute-instance", Hardware, Ends, OnView,
     "the GPU is in MIG mode and has GPU instances, but none of them has a compute instance",
     "instances: the numbers of the GPU instances, separated by commas", Refusal | ViewCause},
    {"mig-without-graphics", Hardware, Ends, OnView,
     "the GPU is in MIG mode, and Vulkan does not support MIG instances", "", Refusal | ByBuild},
    {"mig-without-instance", Hardware, Ends, OnView,
     "the GPU is in MIG mode but has no MIG instance. In a container, the code means that no MIG "
     "instance was passed into the container",
     "", Refusal | ViewCause},
    {"miscomputed", Measurement, Ends, OnView | OnTrial,
     "the device computed a wrong result, so the backend is unusable. If this happened during a "
     "measurement, the measurement has no rate",
     "words, wrong_words: how many words of the result were checked, and how many are wrong; "
     "first_wrong: the index of the first wrong word; kernel: the name of the test computation, "
     "present only after a measurement",
     WorthATrial},
    {"missing", Permission, Ends, OnNode,
     "the kernel lists the device, but the device node does not exist"},
    {"no-accelerator", Machine, Ends, OnCandidate,
     "the backend needs an accelerator that this machine does not have", "backend", ByNature},
    {"no-compute-device", Device, Ends, OnView | OnTrial,
     "the device has no compute queue, or reports that it is not available"},
    {"no-compute-queue", Device, Remarks, OnTrial, "none of the device's queues supports compute"},
    {"no-device", Driver, Ends, OnView, "the driver reports that it has no device",
     "api; call, code"},
    {"no-driver", Hardware, Ends, OnGpu, "no kernel driver is bound to the GPU",
     "modalias, drivers", Blocker | Unserved, 80},
    {"no-gpu", Machine, Ends, OnCandidate | OnVariant,
     "a GPU is required, but this machine has no suitable GPU", "api"},
    {"no-hotplug", Report, Remarks, OnReport, "hardware changes are not detected", "problem"},
    {"no-permission", Permission, Ends, OnView | OnGpu | OnNode,
     "the caller has no permission to open a device node that the backend needs",
     "node, group, mode, device", Cause | ViewCause, 30},
    {"no-published-variant", Policy, Remarks, OnRecommendation,
     "no published variant is known to work on this machine, so the answer assumes that the user "
     "compiles the application",
     "reasons"},
    {"no-such-variant", Request, Remarks, OnRecommendation,
     "a name in the request is neither a variant nor a family for this platform", "word"},
    {"node-missing", Permission, Ends, OnView | OnGpu,
     "the kernel lists the device, but the device node does not exist. If `container` is set, the "
     "node was not passed into that container",
     "node, container", Cause},
    {"not-built", Request, Ends, OnCandidate, "the application was built without this backend",
     "built: the backends that the application was built with", ByBuild},
    {"not-computing", Measurement, Remarks, OnView,
     "a test computation did not finish successfully. If the test computation crashed, gpuprobe "
     "prefers another candidate",
     "api, result, note"},
    {"not-enough-memory", Measurement, Remarks, OnTrial,
     "too little memory is free for the test buffer, which must be larger than every cache",
     "free, need: bytes"},
    {"not-hidden", Machine, Remarks, OnRecommendation,
     "in this API, no variable can hide certain GPUs from the application, so the application can "
     "use GPUs that were not chosen",
     "api; gpus: the ids of the GPUs that no variable can hide"},
    {"not-in-profile-for-vendor", Policy, Ends, OnCandidate,
     "the application does not use this backend on GPUs of this vendor", "vendor", ByNature},
    {"not-listed", Driver, Ends, OnView, "the API answered but did not list this GPU",
     "driver, note"},
    {"not-measured", Measurement, Remarks, OnCandidate,
     "candidates are ordered by measured speed, but this candidate has not been measured"},
    {"not-probed", Report, LeavesOpen, OnView, "no probe of this API has run yet", "api"},
    {"not-published", Policy, Ends, OnCandidate,
     "no published variant for this platform uses the backend", "backend", ByBuild},
    {"not-requested", Request, Ends, OnCandidate | OnVariant,
     "the request allows only other backends, variants or GPUs",
     "requested: backends, variants or GPU ids; variant", Wished},
    {"not-told-apart", Machine, Remarks, OnCandidate,
     "none of the variables that the application reads can select only this GPU, so the "
     "application also sees other GPUs",
     "gpu; gpus: the ids of the other GPUs that the application sees"},
    {"not-usable", Device, Ends, OnCandidate | OnPlan,
     "the backend does not work on this GPU, and the report contains no reason. In a plan, the "
     "code means that no backend works on this GPU",
     "backend: the backend that needs the fewest changes to work (only in a plan); reasons: why "
     "that backend does not work (only in a plan)"},
    {"not-verified", Request, Ends, OnCandidate | OnVariant,
     "the request allows only candidates with verified results, and this candidate failed the "
     "check or has not been checked",
     "result: the result of the check; backend: the variant's backend, or `null` if neither the "
     "manifest nor the variant's family names a backend"},
    {"nvidia-icd-needs-egl", Driver, Ends, OnView,
     "NVIDIA's Vulkan driver works only through `libEGL_nvidia`, so programs that use the "
     "installed manifest fail",
     "manifest, library", WorthATrial},
    {"on-battery", Measurement, Remarks, OnTrial, "the machine is running on battery"},
    {"one-instance-listed", Hardware, Remarks, OnView,
     "because a GPU has MIG instances, the driver lists this GPU or MIG instance only to a process "
     "that selects it by its UUID"},
    {"other-kind", Policy, Ends, OnVariant, "the variant is for another kind of GPU", "", ByBuild},
    {"other-l4t", Machine, Ends, OnVariant,
     "the machine is not a Jetson with the L4T release that the variant needs", "", ByBuild},
    {"other-libc", Machine, Ends, OnVariant,
     "the host's C library is not the one that the variant needs", "", ByBuild},
    {"other-version", Policy, Remarks, OnRecommendation,
     "the variant that fits does not install the latest version of the application", "have, want"},
    {"out-of-memory", Measurement, Remarks, OnTrial,
     "the device has too little memory for a context or a buffer. On an NVIDIA GPU with less than "
     "1 GiB of free memory, the test computation is not started",
     "call, code; have, need: bytes"},
    {"override-set", Report, Remarks, OnReport,
     "an administrator set an override for an application", "application, rule"},
    {"passthrough", Hardware, Ends, OnGpu, "the GPU is reserved for virtual machines", "driver",
     Blocker | Unserved | Wished, 70},
    {"platform-not-in-profile", Policy, Ends, OnCandidate,
     "the application's data file does not cover the requested platform", "platform"},
    {"platform-not-offered", Policy, Ends, OnRecommendation,
     "the manifest has no variant for this processor or C library", "have, want"},
    {"platform-unknown", Machine, LeavesOpen, OnRecommendation,
     "it is unknown whether the manifest's variants are for this machine, because the machine's "
     "system, processor or C library is unknown",
     "unknown: which of `os`, `arch` and `libc` are unknown; want: the platforms for which the "
     "manifest has variants"},
    {"prober-no-permission", Permission, LeavesOpen, OnView,
     "the caller has permission to open the device node, but the worker that probed the drivers "
     "does not",
     "node, group, mode"},
    {"ptx-needs-newer-driver", Driver, Ends, OnVariant,
     "the variant has only PTX code for this GPU, and the driver's CUDA version does not support "
     "that PTX version or is older than the toolkit that generated the code",
     "driver_cuda, toolkit, ptx"},
    {"python-too-new", Machine, Ends, OnCandidate | OnVariant,
     "the variant has no packages for this version of Python", "have, need"},
    {"python-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the variant needs a newer version of Python", "have, need"},
    {"quarantined", Driver, LeavesOpen, OnView | OnTrial,
     "the driver crashed or hung twice, or the machine went down while this driver was being "
     "probed; see [Quarantine](security.md#quarantine)",
     "driver, why, times, since_usec, until_usec, note", Unreliable},
    {"reasons-left-out", Report, Remarks, OnRecommendation,
     "an answer over D-Bus contains at most 2,048 reasons, so the reasons of the last variants "
     "are left out",
     "count: the number of variants without reasons"},
    {"reported-failed", Request, Ends, OnCandidate | OnVariant,
     "the application reported that it tried this backend or variant and failed",
     "detail: the application's message; at_usec: the time of the report; variant"},
    {"requirement-unknown", Policy, LeavesOpen, OnCandidate,
     "a fact that a requirement depends on is unknown", "requirement"},
    {"requirement-unmet", Policy, Ends, OnCandidate,
     "the machine does not meet a requirement of the application or the request, and no more "
     "specific "
     "code exists for that requirement",
     "have, requirement"},
    {"rocm-version-unfit", Driver, Ends, OnVariant,
     "the ROCm version is outside the range that the variant supports"},
    {"rules-too-old", Report, Remarks, OnRecommendation,
     "the manifest needs newer rules than this version of gpuprobe supports", "have, need"},
    {"simulated", Request, Remarks, OnCandidate,
     "this GPU is simulated: `fake` in the request added it"},
    {"skipped", Worker, LeavesOpen, OnView | OnCandidate, "the probe was not run",
     "driver, note; api: present only for a candidate"},
    {"slower-than-cpu", Measurement, Remarks, OnCandidate,
     "candidates are ordered by measured speed, and the CPU was faster than this candidate. A "
     "software implementation that is slower than the CPU is rejected",
     "score, cpu_score"},
    {"software-rasterizer", Device, Ends, OnCandidate,
     "the API's device is a software implementation that runs on the CPU", "name, api, driver"},
    {"stage-not-offered", Measurement, Remarks, OnTrial,
     "the API only provides information and runs no computations", "stage"},
    {"stale-document", Report, Remarks, OnReport | OnRecommendation,
     "a data file that this answer depends on has expired; see [Data files](data-files.md)",
     "document, issued, expired; path: the path of the data file (missing if the file is built in)",
     None, 0, "stale-catalogue"},
    {"state-ignored", Report, Remarks, OnReport,
     "a state file with overrides, outcomes or quarantines could not be read, so the file was "
     "renamed to `….broken`",
     "what, problem"},
    {"state-not-kept", Report, Remarks, OnReport,
     "a state file cannot be written, so recent changes are lost when gpuprobed restarts",
     "what, problem"},
    {"strict", Request, Ends, OnCandidate,
     "the request is strict and does not ask for the CPU, so the CPU is not chosen"},
    {"stub-library", Driver, Ends, OnView,
     "a toolkit's stub library was loaded instead of the driver library", "call, code",
     Refusal | ViewCause},
    {"superseded-document", Report, Remarks, OnRecommendation,
     "the data file describes a version of the application that is older than the latest known "
     "version; see [Data files](data-files.md)",
     "document, version, newer; path: the path of the data file (missing if the file is built in)"},
    {"switched-off", Request, Ends, OnCandidate, "the request excludes all GPUs", "", Wished},
    {"system-not-ready", Hardware, Ends, OnView,
     "CUDA reports that the system is not ready (error 802). Usual causes: the fabric manager of "
     "an NVSwitch machine is not running, or the GPU of a confidential virtual machine was not "
     "set to the ready state",
     "call, code", Refusal | ViewCause, 0, "fabric-manager-not-ready"},
    {"too-few-gpus", Machine, Ends, OnVariant | OnCandidate,
     "the variant needs more GPUs than it can use on this machine", "have, need"},
    {"too-little-host-memory", Machine, Ends, OnVariant,
     "the host has less memory than the variant needs (`have` and `want` are in bytes)"},
    {"too-little-memory", Device, Ends, OnCandidate | OnPlan | OnVariant,
     "the GPU has less memory than the request, the variant or the model needs",
     "have, need: bytes; of: the compared memory size, `allocatable` or, if only that is known, "
     "`physical`"},
    {"too-many-devices", Driver, Remarks, OnReport,
     "a driver lists more devices than the machine can have, so the surplus devices are ignored",
     "api, driver, listed, left_out"},
    {"too-slow", Measurement, Remarks, OnTrial,
     "the smallest test computation takes more than 100 ms, so a watchdog could stop a measurement",
     "piece_usec"},
    {"unhealthy", Hardware, Remarks, OnCandidate,
     "the GPU has a problem, but gpuprobe does not reject the GPU because of it",
     "health: the code of the most severe finding"},
    {"unknown-not-chosen", Request, LeavesOpen, OnCandidate,
     "the verdict on the candidate is unknown, so the candidate was not chosen"},
    {"unreadable", Report, Remarks, OnReport,
     "a file or folder in sysfs or procfs could not be read", "note"},
    {"unreadable-manifest", Driver, LeavesOpen, OnView, "a driver's manifest could not be read"},
    {"unsound", Policy, Ends, OnCandidate,
     "the backend is known to crash or to compute wrong results on this machine, and another "
     "candidate has no such known fault",
     "backend: the first backend without such a fault"},
    {"unstable", Driver, Remarks, OnView,
     "the driver's answers differ between probes, although the machine has not changed. gpuprobe "
     "uses the answer with fewer devices, or with less memory, until the driver has given the same "
     "answer three times in a row",
     "driver, since_usec", Unreliable},
    {"unsupported-predicate", Policy, Ends, OnVariant,
     "this version of gpuprobe does not support the requirement, so the variant is rejected", "",
     ByBuild},
    {"uvm-missing", Permission, Ends, OnGpu,
     "CUDA needs `/dev/nvidia-uvm`, but this device node is missing, and the CUDA probe got no "
     "answer",
     "node, module_loaded", Cause, 20},
    {"vendor-mismatch", Policy, Ends, OnView | OnVariant,
     "the backend or the variant is for GPUs of another vendor",
     "vendor: the GPU's vendor; needs: the vendor that the backend needs, present only for a "
     "backend",
     ByNature, 0, "other-vendor"},
    {"vulkan-extension-missing", Device, Ends, OnVariant,
     "the device lacks a Vulkan extension that the variant needs"},
    {"vulkan-feature-missing", Device, Ends, OnVariant,
     "the device lacks a Vulkan feature that the variant needs"},
    {"vulkan-loader-too-old", Driver, Ends, OnCandidate | OnVariant, "the Vulkan loader is too old",
     "have, need"},
    {"vulkan-too-old", Device, Ends, OnCandidate | OnVariant,
     "the device's Vulkan version is too old", "have, need"},
    {"webgpu-features", Device, Ends, OnView, "Vulkan lacks features that WebGPU needs", "missing"},
    {"webgpu-unknown", Device, LeavesOpen, OnView,
     "it is unknown whether the device's Vulkan driver meets the WebGPU requirements"},
    {"wedged", Hardware, Ends, OnGpu, "the kernel driver could not recover the GPU after an error",
     "", None, 100},
    {"window-ignored", Policy, Remarks, OnPlan,
     "the model has a sliding window, but neither the model file nor gpuprobe specifies which "
     "layers use the window",
     "architecture"},
    {"worker-lost", Worker, LeavesOpen, OnView | OnTrial,
     "the probe process ended before the driver answered, but nothing indicates that the driver "
     "was the cause: the process was killed, or its service did not start. Earlier answers from "
     "the driver stay in the cache",
     "", Unheard},
    {"worker-not-started", Worker, LeavesOpen, OnView | OnTrial,
     "the probe process could not be started; earlier answers from the driver stay in the cache",
     "problem", Unheard},
    {"worker-output", Worker, Remarks, OnView | OnTrial,
     "the driver printed messages before it failed",
     "lines: the last lines that the driver printed"},
    {"worker-stuck", Worker, LeavesOpen, OnView | OnTrial,
     "the last process that probed this driver cannot be killed, so gpuprobe does not probe the "
     "driver again",
     "problem", ViewCause},
};

// A duplicate code or a wrong order is a compile error.
static_assert(std::ranges::adjacent_find(kRows, std::ranges::greater_equal{}, &ReasonInfo::code) ==
              std::end(kRows));

}  // namespace reason_rows

/// The code of a row above, made from a literal at compile time. A code without a row is a compile
/// error. (Do not write `ReasonCode{"…"}`: clang 14 crashes on the cast, but not on the implicit
/// conversion.)
class ReasonCode {
public:
    consteval ReasonCode(const char* code) : code_{code} {
        if (!std::ranges::binary_search(reason_rows::kRows, code_, {}, &ReasonInfo::code))
            throw "report/reason_table.h has no row with this code";
    }
    /// The code of a row that was looked up.
    constexpr ReasonCode(const ReasonInfo& row) : code_{row.code} {}

    [[nodiscard]] constexpr std::string_view text() const { return code_; }
    friend constexpr bool operator==(ReasonCode, ReasonCode) = default;

private:
    std::string_view code_;
};

/// All rows, sorted by code.
std::span<const ReasonInfo> reason_table();

/// The row for a current code that comes from outside the program; nullptr if no row has that code.
const ReasonInfo* find_reason(std::string_view code);

/// Whether the code's row has the trait; false for a code without a row.
bool has_trait(std::string_view code, ReasonTraits trait);

/// Returns the current code for a code from the previous version, and any other code unchanged.
std::string_view today_for(std::string_view code);

}  // namespace gpuprobe::inline report
