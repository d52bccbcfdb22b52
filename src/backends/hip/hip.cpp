// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/driver_library.h"
#include "backends/opencl/opencl.h"
#include "backends/texts.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

/// Libraries that contain the compiler, newest first. Before ROCm 6, the runtime library itself
/// contained the compiler.
constexpr std::array kCompilers = {"libhiprtc.so.7",   "libhiprtc.so.6",
                                   "libhiprtc.so.5",   "/opt/rocm/lib/libhiprtc.so",
                                   "libamdhip64.so.6", "libamdhip64.so.5"};
constexpr std::size_t kMaxLog = 65536;
constexpr std::size_t kMaxCode = std::size_t{64} << 20;

/// The macro definition for building each kernel. Kernels with the same definition are in
/// the same module.
constexpr std::array<std::string_view, kKernels> kDefinitions = {
    "-DWITH_CHECK", "-DWITH_MEMORY", "-DWITH_MEMORY", "-DWITH_MEMORY",
    "-DWITH_FP32",  "-DWITH_FP16",   "-DWITH_INT8"};

/// The first compiler library that loads and has all functions.
std::optional<hip::CompilerSymbols> find_compiler() {
    for (const auto* name : kCompilers)
        if (const auto library = DynamicLibrary::open(name))
            if (const auto compiler = load<hip::CompilerSymbols>(*library))
                return *compiler;
    return std::nullopt;
}

Refusal build_failed(std::string note) {
    return Refusal{.code = "build-failed", .note = std::move(note)};
}

/// The reason code for an error in the stage "verify" or "measure".
const char* reason_of(int code) {
    switch (code) {
        case 2:  // hipErrorOutOfMemory
            return "out-of-memory";
        case 200:  // hipErrorInvalidImage
        case 209:  // hipErrorNoBinaryForGpu
        case 218:  // hipErrorInvalidKernelFile
            return "build-failed";
        case 702:  // hipErrorLaunchTimeOut
            return "dispatch-timed-out";
        case 214:  // hipErrorECCNotCorrectable
        case 700:  // hipErrorIllegalAddress
        case 719:  // hipErrorLaunchFailure
            return "device-lost";
        default:
            return "api-refused";
    }
}

/// A program that hiprtc compiles.
class Program {
public:
    explicit Program(const hip::CompilerSymbols& api) : api_{api} {}

    /// The code object for `source`, compiled for the current device. Refusals: `build-failed`.
    Attempt<std::vector<char>> compiled(const std::string& source, const char* definition) {
        hip::Program made = nullptr;
        const int refused = api_.create(&made, source.c_str(), "kernels.hip", 0, nullptr, nullptr);
        // Take ownership before checking the result, so that a handle is released even after a
        // failure.
        program_ = {made, [this](hip::Program program) { (void)api_.destroy(&program); }};
        if (refused != 0)
            return build_failed("hiprtcCreateProgram failed");
        // Without an architecture option, hiprtc compiles for the current device.
        std::array options = {definition, "-O3"};
        if (api_.compile(made, options.size(), options.data()) != 0)
            return build_failed("hiprtcCompileProgram: " + first_line_of_log());
        std::size_t size = 0;
        if (api_.code_size(made, &size) != 0 || size == 0 || size > kMaxCode)
            return build_failed("hiprtcGetCodeSize failed");
        std::vector<char> code(size);
        if (api_.code(made, code.data()) != 0)
            return build_failed("hiprtcGetCode failed");
        return code;
    }

private:
    [[nodiscard]] std::string first_line_of_log() const {
        std::size_t size = 0;
        if (api_.log_size(program_.get(), &size) != 0 || size > kMaxLog)
            return "no reason given";
        std::string log(size + 1, '\0');
        if (api_.log(program_.get(), log.data()) != 0)
            return "no reason given";
        return first_line(log);
    }

    const hip::CompilerSymbols& api_;
    Owned<hip::Program> program_ = {};
};

class HipDevice final : public RuntimeDevice {
public:
    HipDevice(const hip::Symbols& names,
              const hip::ComputeSymbols& api,
              const hip::CompilerSymbols& compiler)
        : RuntimeDevice{api.runtime, {.has_fp16 = true, .has_int8 = true}},
          names_{names},
          api_{api},
          compiler_{compiler} {}

    Attempt<Done> open(hip::Device device) {
        (void)TRY(tried(api_.set_device, device));
        return begin();
    }

private:
    [[nodiscard]] std::size_t module_of(Kernel kernel) const override {
        return first_in_module(kDefinitions, kernel);
    }
    Attempt<const void*> image_of(Kernel kernel) override {
        const auto source = std::string{hip_preamble()} + std::string{opencl_kernels()};
        auto& code = codes_[module_of(kernel)];
        code = TRY(Program{compiler_}.compiled(source, kDefinitions[index_of(kernel)].data()));
        return static_cast<const void*>(code.data());
    }
    [[nodiscard]] Refusal refusal(std::string_view function, int code) const override {
        return refused_call(reason_of(code), function, hip::words_of(names_, code), code);
    }

    hip::Symbols names_;
    hip::ComputeSymbols api_;
    hip::CompilerSymbols compiler_;
    /// The code objects, indexed by module_of(). The code objects must be kept, because a loaded
    /// module may still read from them.
    std::array<std::vector<char>, kKernels> codes_ = {};
};

}  // namespace

std::string hip::words_of(const Symbols& api, HipResult code) {
    const char* const words = api.error_name(code);
    return scrubbed(words ? words : "unknown code") + " (" + std::to_string(code) + ")";
}

namespace {

/// Opens a device, given by its number in the HIP runtime. hiprtc compiles hip/preamble.hip and the
/// OpenCL C kernels for the GPU. On GPUs without a dot product instruction, Kernel::Int8 cannot be
/// compiled. Refusals: `compiler-missing` if libhiprtc is missing; `out-of-memory`, `device-lost`
/// or `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_hip(const DynamicLibrary& library,
                                                 const hip::Symbols& api,
                                                 hip::Device device) {
    const auto compute = TRY(compute_functions<hip::ComputeSymbols>(library));
    const auto compiler = find_compiler();
    if (!compiler)
        return Refusal{.code = "compiler-missing", .note = "libhiprtc is missing"};
    return opened(std::make_unique<HipDevice>(api, compute, *compiler), device);
}

constexpr int kMaxDevices = 64;

std::optional<PciAddress> pci_of(const hip::Symbols& api, int index) {
    const auto text =
        written_text([&](char* buffer, int size) { return api.pci_bus_id(buffer, size, index); });
    return text ? parse_text(*text, std::type_identity<PciAddress>{}) : std::nullopt;
}

/// The UUID; nullopt if the runtime is too old to report it.
std::optional<std::string> uuid_of(const hip::Symbols& api, hip::Device device) {
    hip::Uuid uuid;
    if (!api.uuid || api.uuid(&uuid, device) != hip::kSuccess)
        return std::nullopt;
    return rocm_uuid(std::string_view{uuid.bytes, sizeof uuid.bytes});
}

/// The facts of a device. HIP reports fewer facts than HSA: the gfx target is only in the device
/// properties, whose layout depends on the version.
DeviceFacts device_facts(const hip::Symbols& api, hip::Device device, int index) {
    DeviceFacts facts;
    facts.index = static_cast<std::uint32_t>(index);
    facts.name =
        written_text([&](char* buffer, int size) { return api.name(buffer, size, device); });
    facts.vendor_id = "1002";
    facts.pci = pci_of(api, index);
    facts.uuid = uuid_of(api, device);
    std::size_t total = 0;
    if (api.total_memory(&total, device) == hip::kSuccess && total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
    facts.extra["gfx_target"] = Value{};
    return facts;
}

/// The version that a function reports; nullopt if the function fails.
std::optional<std::string> version_by(hip::HipResult (*query)(int*)) {
    int version = 0;
    return query(&version) == hip::kSuccess ? hip_version_text(version) : std::nullopt;
}

void send_hip_runtime(const hip::Symbols& api, const DynamicLibrary& library, Sink& sink) {
    Value runtime{Value::Object{{"route", Value{"hip"}}}};
    runtime["loader"] = runtime_of(library).at("loader");
    runtime["version"] = to_value(version_by(api.runtime_version));
    runtime["driver_version"] = to_value(version_by(api.driver_version));
    sink.runtime(runtime);
}

/// The answer for a failed call. If there is no device, the answer is Absent.
Answer refused(const hip::Symbols& api, const char* function, hip::HipResult code) {
    const auto words = hip::words_of(api, code);
    if (code == hip::kNoDevice)
        return without_devices(std::string{function} + ": " + words, {{"api", "hip"}});
    const auto* reason = code == hip::kInsufficientDriver ? "driver-mismatch" : "api-refused";
    return answer_of(refused_call(reason, function, words, code));
}

/// Visits the devices of a loaded HIP runtime.
Answer visit_runtime(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit) {
    const auto api = TRY(query_functions<hip::Symbols>(library));
    const auto refuse = [&](const char* function, hip::HipResult code) {
        return refused(api, function, code);
    };
    send_hip_runtime(api, library, sink);
    sink.phase("enumerate");
    int count = 0;
    (void)TRY(call(refuse, api.device_count, &count));
    if (count <= 0)
        return refused(api, api.device_count.name, hip::kNoDevice);
    sink.phase("query");
    for (int index = 0; index < std::min(count, kMaxDevices); ++index) {
        hip::Device device = 0;
        if (api.device_get(&device, index) != hip::kSuccess)
            continue;
        const auto facts = device_facts(api, device, index);
        if (!visit(facts, [&] { return open_hip(library, api, index); }))
            break;
    }
    return Answer{};
}

/// A library and the function that visits devices through it.
struct Candidate {
    const char* name;
    Answer (*visit)(const DynamicLibrary&, Sink&, const VisitDevice&);
};

/// The candidate libraries, best first. The absolute path is needed for AMD's own ROCm packages,
/// which do not always add their folder to the linker's search path.
constexpr std::array<Candidate, 5> kCandidates = {{
    {"libhsa-runtime64.so.1", visit_hsa},
    {"/opt/rocm/lib/libhsa-runtime64.so.1", visit_hsa},
    {"libamdhip64.so.7", visit_runtime},
    {"libamdhip64.so.6", visit_runtime},
    {"libamdhip64.so.5", visit_runtime},
}};

/// The number of candidates that use HSA; these candidates come first.
constexpr std::size_t kHsaCandidates = 2;

/// Visits devices through the first candidate that loads.
Answer ask_first(std::span<const Candidate> candidates, Sink& sink, const VisitDevice& visit) {
    sink.phase("dlopen");
    std::string problem;
    bool is_absent = true;
    for (const auto& candidate : candidates) {
        const auto library = DynamicLibrary::open(candidate.name);
        if (library)
            return candidate.visit(*library, sink, visit);
        // Report the first name, which users know, unless another library exists but does not load:
        // the error of that library explains more.
        const bool is_broken = library.error().code != ErrorCode::NotFound;
        if (problem.empty() || (is_absent && is_broken))
            problem = library.error().text;
        is_absent = is_absent && !is_broken;
    }
    return Answer{.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = problem};
}

}  // namespace

Answer visit_rocm(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    return ask_first(kCandidates, sink, visit);
}

Answer visit_hip(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    return ask_first(std::span{kCandidates}.subspan(kHsaCandidates), sink, visit);
}

}  // namespace gpuprobe::backends
