// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "knowledge/selectors.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

using knowledge::SelectorKind;

/// One way to make one runtime use one GPU and no other.
struct GpuSelector {
    std::string api = {};  ///< "cuda", "hip", "opencl" …, "opengl", "container", "ggml"
    SelectorKind kind = SelectorKind::Stable;
    std::optional<std::string> partition = {};            ///< selects this unit of the GPU only
    std::map<std::string, std::string> variables = {};    ///< what selects; none for an argument
    std::optional<std::string> argument = {};             ///< for programs that take it as a word
    std::map<std::string, std::string> environment = {};  ///< what must be set beside it
    bool operator==(const GpuSelector&) const = default;
};
RECORD_MEMBERS(GpuSelector, api, kind, partition, variables, argument, environment)

/// Every selector of this GPU that the report is certain of: best first within one API; of a
/// divided GPU those of all its units together, then those of each. `gpu` must be one of the
/// report's, which may be a ComputeView's.
std::vector<GpuSelector> gpu_selectors(const Report& report, const Gpu& gpu);

/// Whether a shell and systemd can set the variable to that, and a terminal can show it: a name of
/// letters, digits and "_" without a digit in front, and a value of printable characters.
bool is_settable(std::string_view name, std::string_view value);

/// The variables of a selector, and what must be set beside them.
std::map<std::string, std::string> needs_of(const GpuSelector& selector);

/// The selectors that are set together: of each API the best, as long as it does not disagree with
/// one before it. None selects a part of a GPU.
std::vector<const GpuSelector*> chosen_selectors(const std::vector<GpuSelector>& selectors);

/// What makes programs use this GPU and no other, through whatever API: what `env GPU` prints. The
/// chosen selectors, and what hides the machine's other GPUs in APIs that do not have this one.
/// Empty when nothing names the GPU.
std::map<std::string, std::string> environment_for(const Report& report, const Gpu& gpu);

}  // namespace gpuprobe::inline policy
