// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/compute.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/compute/runtime_device.h"
#include "backends/hip/hip_compute_abi.h"
#include "backends/opencl/kernels.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

/// Newest first; the library of the runtime itself had the compiler in it before ROCm 6.
constexpr std::array kCompilers = {"libhiprtc.so.7",   "libhiprtc.so.6",
                                   "libhiprtc.so.5",   "/opt/rocm/lib/libhiprtc.so",
                                   "libamdhip64.so.6", "libamdhip64.so.5"};
constexpr std::size_t kMaxLog = 65536;
constexpr std::size_t kMaxLogLine = 200;
constexpr std::size_t kMaxCode = std::size_t{64} << 20;

constexpr std::array<const char*, kKernels> kDefinitions = {
    "-DWITH_CHECK", "-DWITH_MEMORY", "-DWITH_MEMORY", "-DWITH_MEMORY",
    "-DWITH_FP32",  "-DWITH_FP16",   "-DWITH_INT8"};

std::optional<hip::CompilerSymbols> find_compiler() {
    for (const auto* name : kCompilers)
        if (const auto library = DynamicLibrary::open(name))
            if (const auto compiler = hip::load_compiler(*library))
                return *compiler;
    return std::nullopt;
}

Refusal build_failed(std::string note) {
    return Refusal{.code = "build-failed", .note = std::move(note)};
}

/// A program of hiprtc's, and what it says.
class Program {
public:
    explicit Program(const hip::CompilerSymbols& api) : api_{api} {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (program_)
            (void)api_.destroy.call(&program_);
    }

    Attempt<std::vector<char>> compiled(const std::string& source, const char* definition) {
        if (api_.create.call(&program_, source.c_str(), "kernels.hip", 0, nullptr, nullptr) != 0)
            return build_failed("hiprtcCreateProgram refused");
        std::array options = {definition, "-O3"};
        if (api_.compile.call(program_, options.size(), options.data()) != 0)
            return build_failed("hiprtcCompileProgram: " + first_line_of_log());
        std::size_t size = 0;
        if (api_.code_size.call(program_, &size) != 0 || size == 0 || size > kMaxCode)
            return build_failed("hiprtcGetCodeSize refused");
        std::vector<char> code(size);
        if (api_.code.call(program_, code.data()) != 0)
            return build_failed("hiprtcGetCode refused");
        return code;
    }

private:
    [[nodiscard]] std::string first_line_of_log() const {
        std::size_t size = 0;
        if (api_.log_size.call(program_, &size) != 0 || size > kMaxLog)
            return "no reason given";
        std::string log(size + 1, '\0');
        if (api_.log.call(program_, log.data()) != 0)
            return "no reason given";
        const auto text = trimmed(std::string_view{log.c_str()});
        return scrubbed(text.substr(0, text.find('\n')), kMaxLogLine);
    }

    const hip::CompilerSymbols& api_;
    hip::Program program_ = nullptr;
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
    ~HipDevice() override { end(); }

    Attempt<Done> open(hip::Device device) {
        (void)TRY(call(api_.set_device, device));
        return begin();
    }

private:
    [[nodiscard]] std::size_t group_of(Kernel kernel) const override {
        const std::string_view definition = kDefinitions[static_cast<std::size_t>(kernel)];
        return static_cast<std::size_t>(std::ranges::find(kDefinitions, definition) -
                                        kDefinitions.begin());
    }
    Attempt<const void*> image_of(Kernel kernel) override {
        const auto source = std::string{hip_preamble()} + std::string{opencl_kernels()};
        auto& code = codes_[group_of(kernel)];
        code = TRY(
            Program{compiler_}.compiled(source, kDefinitions[static_cast<std::size_t>(kernel)]));
        return static_cast<const void*>(code.data());
    }
    [[nodiscard]] Refusal refusal(const char* name, int code) const override {
        return hip::hip_refusal(names_, name, code);
    }

    hip::Symbols names_;
    hip::ComputeSymbols api_;
    hip::CompilerSymbols compiler_;
    std::array<std::vector<char>, kKernels> codes_ = {};  ///< by group; a module may read on in it
};

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_hip(const DynamicLibrary& library,
                                                 const hip::Symbols& api,
                                                 hip::Device device) {
    const auto compute = hip::load_compute(library);
    if (!compute)
        return Refusal{.code = "api-refused", .note = compute.error().text};
    const auto compiler = find_compiler();
    if (!compiler)
        return Refusal{.code = "compiler-missing", .note = "there is no libhiprtc"};
    auto opened = std::make_unique<HipDevice>(api, *compute, *compiler);
    (void)TRY(opened->open(device));
    return std::unique_ptr<ComputeDevice>{std::move(opened)};
}

}  // namespace gpuprobe::backends
