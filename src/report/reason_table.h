// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

/// Every reason code and everything that the program knows about it. docs/reasons.md is generated
/// from these rows.
namespace gpuprobe::inline report {

/// Subject of a reason.
enum class ReasonSubject : std::uint8_t {
    Driver,       ///< a driver, its libraries or its manifest
    Worker,       ///< the worker process that probes drivers
    Permission,   ///< device nodes and their permissions
    Hardware,     ///< the GPU itself, or its kernel driver
    Device,       ///< one device as an API reports it
    Machine,      ///< the host: processor, memory, C library, kernel
    Policy,       ///< rules in the application's profile or manifest
    Request,      ///< the caller's request
    Measurement,  ///< running kernels on the device, and the results
    Report,       ///< the making of the report
};

/// Effect of a reason on the question "can this be used here?".
enum class ReasonEffect : std::uint8_t {
    Remarks,     ///< no effect; worth knowing
    LeavesOpen,  ///< the answer is unknown because of it
    Ends,        ///< the answer is no, unless another reason leaves it open
};

/// The places in which a reason can appear. A set of flags. docs/reasons.md explains a code once,
/// in the section of its first flag.
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

/// Further uses of a reason in the program. A set of flags.
enum class ReasonTraits : std::uint16_t {
    None = 0,
    /// The driver itself refused, which settles the question, even if other reasons leave it open.
    Refusal = 1U << 0U,
    /// The driver gave no answer, so a closed node may or may not be the cause.
    Silence = 1U << 1U,
    /// As a finding on a GPU, it rules out an answer from any driver.
    Blocker = 1U << 2U,
    /// On an API's view, it is also a finding on the GPU.
    DriverFault = 1U << 3U,
    /// As a finding, it has a specific fix and explains why drivers fail on the GPU.
    Cause = 1U << 4U,
    /// On an API's view, it has a specific fix and explains why that API fails.
    ViewCause = 1U << 5U,
    /// The backend is not meant for such a GPU, so lists of obstacles omit it.
    ByNature = 1U << 6U,
    /// The driver was never called, so its earlier answers remain valid.
    Unheard = 1U << 7U,
    /// Programs cannot use the backend, but a worker can still try to compute with it.
    WorthATrial = 1U << 8U,
    /// The kernel still runs or the device is gone: never wait for anything on the device.
    Stuck = 1U << 9U,
    /// As a finding: no driver is bound to the GPU, so drivers cannot report about it.
    Unserved = 1U << 10U,
    /// The driver's answers are not reliable.
    Unreliable = 1U << 11U,
    /// The user or the request asked for it, so an unused GPU is not reported as a problem.
    Wished = 1U << 12U,
    /// The build, or a rule of the program itself, excludes such a GPU or host; another build may
    /// not.
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
    /// Meaning, as Markdown for docs/reasons.md.
    const char* meaning;
    /// The members of `detail`, in the form "have, need: bytes; of: the compared size": three
    /// members, of which the first two share an explanation. Empty if the reason has no detail.
    const char* detail = "";
    ReasonTraits traits = ReasonTraits::None;
    /// Severity as a finding on a GPU, compared with other codes. 0 does not affect the GPU's
    /// health.
    std::uint8_t gravity = 0;
    /// The code in the previous version: still read, never written.
    std::string_view alias = {};
};

/// Detail members of every reason that comes from a predicate on a variant or on an installed
/// build.
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
     "a driver's device could be more than one GPU of the machine; it was given to none",
     "driver; api, index, gpus: in `notes`"},
    {"api-refused", Driver, Ends, OnView | OnTrial, "a call of the API failed",
     "call, code; node, device, error: of a node that could not be opened", Refusal},
    {"arch-not-in-build", Policy, Ends, OnCandidate | OnVariant,
     "the application's build has no kernels for the GPU's architecture",
     "have; need: the predicate", ByBuild},
    {"asleep", Device, LeavesOpen, OnView | OnTrial, "asking would have woken the device", "device",
     Silence},
    {"backend-not-usable", Device, Ends, OnVariant, "the API does not work on the GPU"},
    {"better-if-built", Policy, Remarks, OnRecommendation,
     "the application prefers another backend, and no published variant can use it on this machine",
     "backend, gpu, reasons"},
    {"buffer-limit", Device, Remarks, OnPlan,
     "one allocation can have less than the plan needs in all", "backend; have, need: bytes"},
    {"build-failed", Measurement, Remarks, OnTrial, "the driver's compiler refused a kernel",
     "call, code"},
    {"built-for-older", Policy, Ends, OnVariant,
     "what is here is newer than the variant is made for", "", ByBuild},
    {"bundled", Policy, Remarks, OnCandidate,
     "the host's own libraries of the API are missing or gave no answer; the application bundles "
     "its own, and the kernel's driver and open nodes are enough",
     "api"},
    {"busy", Measurement, Remarks, OnTrial, "others use the GPU for more than a tenth of its time",
     "percent, source"},
    {"compiler-missing", Driver, Remarks, OnTrial,
     "the driver has no compiler here: in a container, often a library that was not passed in. The "
     "GPU may be well",
     "call, code"},
    {"compute-prohibited", Hardware, Ends, OnView, "the GPU's compute mode lets no program in"},
    {"conflict", Report, Remarks, OnReport, "two records claim one place and differ",
     "api, driver, index: whose record; gpu, key, vendor_id"},
    {"cpu-feature-missing", Machine, Ends, OnVariant,
     "the processor lacks a feature that the variant needs", "", ByBuild},
    {"cpu-forbidden", Policy, Ends, OnCandidate, "the profile never uses the CPU"},
    {"cpu-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the processor's level is below what is needed", "have, need", ByBuild},
    {"cuda-version-unfit", Driver, Ends, OnVariant, "the driver's CUDA is outside the range"},
    {"denied", Request, Ends, OnCandidate | OnVariant, "the request denies it",
     "backend, gpu: whichever it denies; variant", Wished},
    {"device-denied", Permission, Ends, OnView | OnGpu,
     "the node's mode would let the prober in, and its device control group does not: a "
     "container's, or a unit's `DeviceAllow=`",
     "node, device, container", Blocker | Cause, 40},
    {"device-error", Hardware, Remarks, OnReport,
     "a driver has a place for a GPU that it cannot reach",
     "api, driver, index: whose record; error: what the driver said; code: of NVML"},
    {"device-lost", Hardware, Remarks, OnTrial,
     "the device was gone, or its context broken, while a kernel ran", "call, code", Stuck},
    {"device-not-found", Device, Remarks, OnTrial, "the driver does not offer that device now",
     "device"},
    {"device-not-ready", Hardware, Ends, OnGpu, "its driver says that it is not ready", "state",
     Blocker, 35},
    {"discrete-preferred", Policy, Ends, OnCandidate, "a discrete GPU can be used",
     "backend, gpu: the first such"},
    {"dispatch-timed-out", Measurement, Remarks, OnTrial, "a kernel did not end in time",
     "limit_usec; call, code: where the API told", Stuck},
    {"display-only", Hardware, Ends, OnCandidate | OnView,
     "the GPU shows pictures and computes nothing (a management controller, a firmware "
     "framebuffer)",
     "driver", ByNature},
    {"driver-crashed", Driver, LeavesOpen, OnView | OnGpu | OnCandidate,
     "the driver took its process down", "driver, note; api", Silence | DriverFault, 60},
    {"driver-failed", Driver, LeavesOpen, OnView | OnGpu | OnCandidate,
     "the driver refused, or left without a whole answer", "driver, note; api", DriverFault, 10},
    {"driver-mismatch", Driver, Ends, OnGpu | OnView,
     "kernel module and library are of two versions: restart, or reload the module",
     "kernel, userspace, library; call, code: from a driver", Refusal | Blocker | Cause | ViewCause,
     90},
    {"driver-missing", Driver, Ends, OnView | OnVariant,
     "the API has no driver for this GPU's vendor, or the library its manifest names is missing; "
     "on a variant, no driver of the GPU's vendor is in use",
     "vendor: of the GPU; driver, library, note: of the manifest"},
    {"driver-mixed", Driver, Remarks, OnGpu,
     "a library of NVIDIA's driver is of another version than its libcuda.so.1",
     "version, library, cuda: the version of libcuda.so.1", None, 15},
    {"driver-not-loaded", Driver, Ends, OnView, "the driver's library finds no kernel module",
     "call, code", Refusal | ViewCause},
    {"driver-timed-out", Driver, LeavesOpen, OnView | OnGpu | OnCandidate,
     "the driver did not answer in time and was killed", "driver, note; api", Silence | DriverFault,
     50},
    {"driver-too-old", Driver, Ends, OnCandidate | OnVariant,
     "the driver is older than the profile, the request, the build or its toolkit demands",
     "have, need"},
    {"fact-unknown", Device, LeavesOpen, OnVariant, "it is not known whether the predicate holds"},
    {"free-unknown", Device, Remarks, OnPlan,
     "on a GPU: it is not known what is free, so another size stands in for it",
     "used: `allocatable` or `physical`"},
    {"glibc-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the host's glibc is older than the build needs", "have, need"},
    {"gpu-unused", Policy, Remarks, OnRecommendation,
     "the answer takes no GPU, although there is one and nobody wanted it so",
     "gpu; by, reasons: the backend or variant that misses least on it, and what; without `by` "
     "nothing is made for it"},
    {"gpus-left-out", Report, Remarks, OnRecommendation, "only the best 64 GPUs were considered",
     "count"},
    {"hidden-by-environment", Machine, Remarks, OnCandidate,
     "a variable of the caller's own environment hides the GPU from this backend",
     "gpu, variable, value; replaced: whether the environment of the answer sets it again, or "
     "something that counts in its place"},
    {"implausible", Hardware, Remarks, OnGpu,
     "a size that no GPU can have: over 4 TiB, 64 times the machine's memory, or twice what the "
     "kernel says. It stays in `memory.evidence` and is used for nothing",
     "source, what, bytes, limit"},
    {"inconclusive", Driver, LeavesOpen, OnView,
     "the driver that serves this GPU answered without it: it is not known why", "driver"},
    {"integrated-not-allowed", Policy, Ends, OnCandidate, "the profile uses no integrated GPU", "",
     ByBuild},
    {"integrated-not-enabled", Policy, Ends, OnCandidate,
     "the profile uses an integrated GPU only where variables of the program's own say so, and the "
     "caller's environment does not have them",
     "variables: `NAME=VALUE`"},
    {"isa-mismatch", Driver, LeavesOpen, OnView,
     "the runtime of ROCm reports another gfx target than the kernel driver: programs may crash or "
     "compute wrong results",
     "reported, kernel"},
    {"joined-weakly", Report, Remarks, OnView,
     "the record was matched by ids and memory alone, because it has no address", "by"},
    {"kernel-driver-unfit", Driver, Ends, OnView,
     "the API does not work with the bound kernel driver", "driver, api"},
    {"kernel-too-old", Machine, Ends, OnCandidate | OnVariant,
     "the host's kernel is older than the build needs", "have, need"},
    {"knowledge-ignored", Report, Remarks, OnReport,
     "a data file or a bundle could not be used; the next older one is used instead: "
     "[Data files](data-files.md)",
     "file, problem"},
    {"known-bad", Driver, Remarks, OnCandidate | OnPlan,
     "the backend is known to have a fault on such a GPU with this kernel, driver or runtime: "
     "[The doctor](doctor.md)",
     "cause: its id; backends; fault; text"},
    {"library-missing", Machine, Ends, OnCandidate | OnVariant,
     "the host's dynamic linker does not find it, and no installed build bundles it", "missing"},
    {"library-not-listed", Machine, Remarks, OnCandidate,
     "the build needs a library that it does not bundle, and that no report lists: it may be there",
     "library, build"},
    {"loader-missing", Driver, Ends, OnView | OnCandidate, "the API's library is not installed",
     "driver, note; api: on a candidate"},
    {"lost", Hardware, Ends, OnGpu, "the GPU no longer answers", "", None, 110},
    {"malformed-answer", Worker, LeavesOpen, OnView | OnTrial,
     "the probing process sent something that is no answer, or a reason that this program does not "
     "know",
     "problem"},
    {"malformed-manifest", Driver, LeavesOpen, OnView,
     "a driver's manifest was read and makes no sense"},
    {"memory-mismatch", Hardware, Remarks, OnGpu, "two sources disagree on the GPU's memory",
     "kept, other"},
    {"memory-unknown", Device, LeavesOpen, OnCandidate | OnPlan,
     "so much memory is needed, and what can be allocated is not known", "need: bytes"},
    {"mig-without-graphics", Hardware, Ends, OnView,
     "the GPU is in MIG mode, and none of its instances has graphics: Vulkan does not know them",
     "", Refusal | ByBuild},
    {"mig-without-instance", Hardware, Ends, OnView,
     "the GPU is in MIG mode and has no instance (here, where that is a container)", "",
     Refusal | ViewCause},
    {"miscomputed", Measurement, Ends, OnView | OnTrial,
     "it computed, and the result was wrong: not usable for anybody. A kernel that was to be timed "
     "has no rate then",
     "words, wrong_words, first_wrong; kernel: the one that was to be timed", WorthATrial},
    {"missing", Permission, Ends, OnNode, "the kernel knows the device, and its node is not there"},
    {"no-compute-device", Device, Ends, OnView | OnTrial,
     "the device offers no compute queue, or says it is not available"},
    {"no-compute-queue", Device, Remarks, OnTrial, "no queue of the device computes"},
    {"no-device", Driver, Ends, OnView, "the driver answered that it has none", "api; call, code"},
    {"no-driver", Hardware, Ends, OnGpu, "no kernel driver is bound", "modalias",
     Blocker | Unserved, 80},
    {"no-gpu", Machine, Ends, OnCandidate | OnVariant,
     "a GPU is needed, and the machine has none for it", "api"},
    {"no-hotplug", Report, Remarks, OnReport, "changes of hardware are not followed", "problem"},
    {"no-permission", Permission, Ends, OnView | OnGpu | OnNode,
     "a device node that the backend opens is closed to whoever asks", "node, group, mode, device",
     Cause | ViewCause, 30},
    {"no-published-variant", Policy, Remarks, OnRecommendation,
     "no published variant is known to fit this machine, so the answer is for a build that the "
     "user "
     "makes",
     "reasons"},
    {"no-such-variant", Request, Remarks, OnRecommendation,
     "a word of the request is neither a variant nor a family of the platform", "word"},
    {"node-missing", Permission, Ends, OnView | OnGpu,
     "the kernel knows the device, and its node does not exist: in a `container`, it was not "
     "passed in",
     "node, container", Cause},
    {"not-built", Request, Ends, OnCandidate, "the caller was not built with it",
     "built: what it was built with", ByBuild},
    {"not-computing", Measurement, Remarks, OnView,
     "a test computation on it did not end well; if it crashed, another candidate is preferred",
     "api, result, note"},
    {"not-enough-memory", Measurement, Remarks, OnTrial,
     "less is free than a buffer needs that no cache holds", "free, need: bytes"},
    {"not-in-profile-for-vendor", Policy, Ends, OnCandidate,
     "the profile has no such backend for GPUs of this vendor", "vendor", ByNature},
    {"not-listed", Driver, Ends, OnView, "the API answered, and this GPU was not among its devices",
     "driver, note"},
    {"not-measured", Measurement, Remarks, OnCandidate,
     "the order is by measurement, and this was not measured"},
    {"not-probed", Report, LeavesOpen, OnView, "no probe of this API has run yet", "api"},
    {"not-published", Policy, Ends, OnCandidate,
     "no published variant for this platform uses the backend", "backend", ByBuild},
    {"not-requested", Request, Ends, OnCandidate | OnVariant, "the request asks for others only",
     "requested: backends, variants or GPU ids; variant", Wished},
    {"not-told-apart", Machine, Remarks, OnCandidate,
     "no variable that the application reads names only this GPU, so it sees other GPUs too",
     "gpu; gpus: the ids of those"},
    {"not-usable", Device, Ends, OnCandidate | OnPlan, "the report says so and gives no reason"},
    {"not-verified", Request, Ends, OnCandidate | OnVariant,
     "the request wants what computed a checked result, and this did not, or nobody asked",
     "result: how it ended; backend: what the variant computes with, `null` where neither manifest "
     "nor family tells"},
    {"nvidia-icd-needs-egl", Driver, Ends, OnView,
     "the Vulkan driver only worked behind `libEGL_nvidia`; programs that use its manifest as it "
     "is fail",
     "manifest, library", WorthATrial},
    {"on-battery", Measurement, Remarks, OnTrial, "a battery of the machine is being emptied"},
    {"one-instance-listed", Hardware, Remarks, OnView,
     "the driver shows a process one MIG instance of the machine and no other GPU; named by its "
     "UUID, this one is shown as well"},
    {"other-kind", Policy, Ends, OnVariant, "the variant is for another kind of GPU", "", ByBuild},
    {"other-l4t", Machine, Ends, OnVariant, "this is no Jetson of that release", "", ByBuild},
    {"other-libc", Machine, Ends, OnVariant, "the host has another C library", "", ByBuild},
    {"other-version", Policy, Remarks, OnRecommendation,
     "the variant that fits installs another version of the application than the newest one",
     "have, want"},
    {"out-of-memory", Measurement, Remarks, OnTrial,
     "no room for a context or a buffer; on an NVIDIA GPU with less than 1 GiB free none is tried",
     "call, code; have, need: bytes"},
    {"override-set", Report, Remarks, OnReport,
     "an administrator decided something for an application", "application, rule"},
    {"passthrough", Hardware, Ends, OnGpu, "it is reserved for virtual machines", "driver",
     Blocker | Unserved | Wished, 70},
    {"platform-not-in-profile", Policy, Ends, OnCandidate,
     "the profile does not know the platform that the request is about", "platform"},
    {"platform-not-offered", Policy, Ends, OnRecommendation,
     "the manifest has nothing for this processor or C library", "have, want"},
    {"platform-unknown", Machine, LeavesOpen, OnRecommendation,
     "what the manifest has may be for this machine or not: its system, processor or C library is "
     "not known",
     "unknown: `os`, `arch`, `libc`; want"},
    {"prober-no-permission", Permission, LeavesOpen, OnView,
     "the node is open to whoever asks, and was closed to the one who asked the drivers",
     "node, group, mode"},
    {"profile-ignored", Report, Remarks, OnReport,
     "a file in a folder of applications is neither an application nor a profile nor a manifest",
     "file, problem"},
    {"ptx-needs-newer-driver", Driver, Ends, OnVariant,
     "only PTX fits, and the driver's CUDA does not know its version, or is older than the toolkit "
     "that made it",
     "driver_cuda, toolkit, ptx"},
    {"quarantined", Driver, LeavesOpen, OnView | OnTrial,
     "the same driver crashed or hung twice, or the machine went down while it was asked: "
     "[Quarantine](security.md#quarantine)",
     "driver, why, times, since_usec, until_usec, note", Unreliable},
    {"reported-failed", Request, Ends, OnCandidate | OnVariant,
     "the application reported that it tried this and failed",
     "detail: what it said; at_usec: when; variant"},
    {"requirement-unknown", Policy, LeavesOpen, OnCandidate,
     "a fact that a predicate is about is not known", "requirement"},
    {"requirement-unmet", Policy, Ends, OnCandidate,
     "another predicate of the profile or the request fails", "have, requirement"},
    {"rocm-version-unfit", Driver, Ends, OnVariant, "ROCm is outside the range"},
    {"rules-too-old", Report, Remarks, OnRecommendation,
     "the manifest relies on newer rules than this program has", "have, need"},
    {"simulated", Request, Remarks, OnCandidate, "the GPU was made up by the request's `fake`"},
    {"skipped", Worker, LeavesOpen, OnView | OnCandidate, "the probe was not run",
     "driver, note; api: on a candidate"},
    {"slower-than-cpu", Measurement, Remarks, OnCandidate,
     "the order is by measurement, and the CPU was measured faster; what is software is rejected "
     "for it",
     "score, cpu_score"},
    {"software-rasterizer", Device, Ends, OnCandidate, "the API's device is a program on the CPU",
     "name, api, driver"},
    {"stage-not-offered", Measurement, Remarks, OnTrial,
     "the API only tells facts, and runs nothing", "stage"},
    {"stale-document", Report, Remarks, OnReport | OnRecommendation,
     "a data file that this answer depends on has expired: [Data files](data-files.md)",
     "document, issued, expired", None, 0, "stale-catalogue"},
    {"state-ignored", Report, Remarks, OnReport,
     "a file of overrides, outcomes or quarantine could not be read and was renamed to `….broken`",
     "what, problem"},
    {"state-not-kept", Report, Remarks, OnReport,
     "a file of state cannot be written: after the next start it is as if that had not happened",
     "what, problem"},
    {"strict", Request, Ends, OnCandidate, "the CPU is chosen only when asked for"},
    {"stub-library", Driver, Ends, OnView,
     "a toolkit's stub library stands where the driver's should", "call, code",
     Refusal | ViewCause},
    {"superseded-document", Report, Remarks, OnRecommendation,
     "a newer version of the application is known than the one that its data file describes: "
     "[Data files](data-files.md)",
     "document, version, newer"},
    {"switched-off", Request, Ends, OnCandidate, "the request wants no GPU", "", Wished},
    {"system-not-ready", Hardware, Ends, OnView,
     "CUDA says that the system is not ready (802): usually a machine with NVSwitch without its "
     "fabric manager, or a confidential virtual machine whose GPU was not set ready",
     "call, code", Refusal | ViewCause, 0, "fabric-manager-not-ready"},
    {"too-few-gpus", Machine, Ends, OnVariant | OnCandidate,
     "the variant needs more GPUs than it can run on here", "have, need"},
    {"too-little-host-memory", Machine, Ends, OnVariant,
     "the host has less memory than is needed, in bytes"},
    {"too-little-memory", Device, Ends, OnCandidate | OnPlan | OnVariant,
     "less memory than the request, the variant or the model needs",
     "have, need: bytes; of: `allocatable`, or `physical` where that is all that is known"},
    {"too-many-devices", Driver, Remarks, OnReport,
     "a driver lists more devices than the machine can have; the rest was left out",
     "api, driver, listed, left_out"},
    {"too-slow", Measurement, Remarks, OnTrial,
     "the smallest piece of work takes over 100 ms, and a watchdog may be near", "piece_usec"},
    {"unhealthy", Hardware, Remarks, OnCandidate,
     "the GPU is not ruled out, and something was found on it",
     "health: the code of the gravest finding"},
    {"unknown-not-chosen", Request, LeavesOpen, OnCandidate,
     "added to every unknown candidate: an unknown candidate is never certain to work, so it was "
     "passed over"},
    {"unreadable", Report, Remarks, OnReport, "something of the kernel's could not be read",
     "note"},
    {"unreadable-manifest", Driver, LeavesOpen, OnView, "a driver's manifest could not be read"},
    {"unsound", Policy, Ends, OnCandidate,
     "it is known to crash or to compute wrong results here, and another candidate is not",
     "backend: the first such"},
    {"unstable", Driver, Remarks, OnView,
     "the driver says something else each time it is asked although nothing has changed; of two "
     "answers the one with fewer devices, or less memory, is believed until it has said the same "
     "three times in a row",
     "driver, since_usec", Unreliable},
    {"unsupported-predicate", Policy, Ends, OnVariant,
     "this program does not know the predicate, so the variant is not for it", "", ByBuild},
    {"uvm-missing", Permission, Ends, OnGpu,
     "`/dev/nvidia-uvm` is missing, and CUDA, which needs it, was asked without an answer",
     "node, module_loaded", Cause, 20},
    {"vendor-mismatch", Policy, Ends, OnView | OnVariant,
     "the backend or the variant is for GPUs of another vendor", "vendor, needs: on a backend",
     ByNature, 0, "other-vendor"},
    {"vulkan-extension-missing", Device, Ends, OnVariant,
     "the device lacks a Vulkan extension that the variant needs"},
    {"vulkan-feature-missing", Device, Ends, OnVariant,
     "the device lacks a Vulkan feature that the variant needs"},
    {"vulkan-loader-too-old", Driver, Ends, OnCandidate | OnVariant, "the Vulkan loader is too old",
     "have, need"},
    {"vulkan-too-old", Device, Ends, OnCandidate | OnVariant,
     "the device's version of Vulkan is too old", "have, need"},
    {"webgpu-features", Device, Ends, OnView, "Vulkan lacks what WebGPU needs", "missing"},
    {"webgpu-unknown", Device, LeavesOpen, OnView,
     "the facts do not tell whether Vulkan offers what WebGPU needs"},
    {"wedged", Hardware, Ends, OnGpu, "the kernel driver gave the GPU up", "", None, 100},
    {"window-ignored", Policy, Remarks, OnPlan,
     "on the model: it has a sliding window, and neither file nor program knows in which layers",
     "architecture"},
    {"worker-lost", Worker, LeavesOpen, OnView | OnTrial,
     "the probing process was gone before there was an answer, and nobody saw the driver do it: "
     "somebody ended the process, or its service did not start; what the driver answered before "
     "stays in the cache",
     "", Unheard},
    {"worker-not-started", Worker, LeavesOpen, OnView | OnTrial,
     "the probing process could not be started; what the driver answered before stays in the cache",
     "problem", Unheard},
    {"worker-output", Worker, Remarks, OnView | OnTrial, "what the driver printed before it failed",
     "lines"},
    {"worker-stuck", Worker, LeavesOpen, OnView | OnTrial,
     "the process that asked this driver last cannot be ended: no other is started beside it",
     "problem", ViewCause},
};

// A duplicate code or a wrong order does not compile.
static_assert(std::ranges::adjacent_find(kRows, std::ranges::greater_equal{}, &ReasonInfo::code) ==
              std::end(kRows));

}  // namespace reason_rows

/// The code of a row above. It is made from a literal at compile time; a code without a row does
/// not compile. (Do not write `ReasonCode{"…"}`: clang 14 crashes on the cast, but not on the
/// implicit conversion.)
class ReasonCode {
public:
    consteval ReasonCode(const char* code) : code_{code} {
        if (!std::ranges::binary_search(reason_rows::kRows, code_, {}, &ReasonInfo::code))
            throw "report/reason_table.h has no such code";
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

/// The row of a code from outside, which must be a current code; nullptr if no row has it.
const ReasonInfo* find_reason(std::string_view code);

/// Whether the code's row has the trait; false for a code without a row.
bool has_trait(std::string_view code, ReasonTraits trait);

/// The current code for a code of the previous version; any other code is returned unchanged.
std::string_view today_for(std::string_view code);

}  // namespace gpuprobe::inline report
