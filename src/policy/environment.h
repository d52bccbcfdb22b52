// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "knowledge/selectors.h"
#include "policy/gpu_selection.h"
#include "policy/profile.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

using Variables = std::map<std::string, std::string>;

/// The template with its facts filled in; nullopt if one of them is unknown.
std::optional<std::string> filled(std::string_view text, const Selection& selection);

/// The rule with all its facts filled in; nullopt if one of them is unknown.
std::optional<Variables> filled(const EnvironmentRule& rule, const Selection& selection);

/// The environment that an application's processes read.
struct Access {
    std::vector<const knowledge::Reader*> readers = {};  ///< borrowed from the data file
    std::set<std::string, std::less<>> variables = {};   ///< variables that they read or forward
};

/// The environment that the profile declares. Without a declaration: the variables read by the
/// libraries below its backends, and those that the profile sets.
Access access_of(const Profile& profile);

/// Whether a template in the profile's environment may name this: a selector fact, or "=NAME" for
/// an answer in the profile.
bool is_environment_fact(const Profile& profile, std::string_view name);

/// Whether an environment has the variables that prefer a GPU but may not hide the others.
enum class Preferences { Included, LeftOut };

/// The variables that restrict the application to exactly the selected GPUs through `backend`, as
/// far as the facts allow, and to no device of any other API that it reads. With the CPU as
/// backend, they hide every device. `answers` are the answers for that selection. The profile's
/// rules take precedence.
Variables environment_of(const Profile& profile,
                         std::string_view backend,
                         const Selection& selection,
                         const Variables& answers,
                         Preferences preferences = Preferences::Included);

/// Hides what a caller's own variables would add to the APIs that the environment hides.
void hide_additions(const Access& access, const Variables& callers, Variables& environment);

/// The variables that hidden_by() and hide_additions() evaluate, and CUDA_DEVICE_ORDER, which
/// affects how they are interpreted.
std::vector<std::string_view> hiding_variables();

/// A `hidden-by-environment` for each caller variable that is known to hide the GPU from the
/// application through `backend`. `selection` contains the GPUs that the application should use,
/// and `answer` the environment that selects them.
std::vector<Reason> hidden_by(const Variables& callers,
                              const Access& access,
                              std::string_view backend,
                              const Gpu& gpu,
                              const Selection& selection,
                              const Variables& answer);

using knowledge::SelectorKind;

/// One way to make a runtime use one GPU and no other.
struct GpuSelector {
    std::string api = {};  ///< "cuda", "hip", "opencl" …, "opengl", "container", "ggml"
    SelectorKind kind = SelectorKind::Stable;
    std::optional<std::string> partition = {};  ///< selects only this partition of the GPU
    /// Variables that select; empty for an argument.
    std::map<std::string, std::string> variables = {};
    std::optional<std::string> argument = {};  ///< for programs that take it as an argument
    std::map<std::string, std::string> environment = {};  ///< variables to set in addition
    bool operator==(const GpuSelector&) const = default;
};
RECORD_MEMBERS(GpuSelector, api, kind, partition, variables, argument, environment)

/// Every selector of this GPU that the report is certain of, best first within each API. For a
/// partitioned GPU: the selectors for all partitions together, followed by those for each
/// partition. `gpu` must belong to the report or to a ComputeView.
std::vector<GpuSelector> gpu_selectors(const Report& report, const Gpu& gpu);

/// Whether a shell and systemd can set the variable to the value, and a terminal can show it: a
/// name of letters, digits and "_" that does not begin with a digit, and a value of printable
/// characters.
bool is_settable(std::string_view name, std::string_view value);

/// The selector's variables together with those it requires in addition.
std::map<std::string, std::string> needs_of(const GpuSelector& selector);

/// The selectors to set together: the best one of each API, unless it conflicts with an earlier
/// one. Selectors of partitions are excluded.
std::vector<const GpuSelector*> chosen_selectors(const std::vector<GpuSelector>& selectors);

/// The variables that make programs use only this GPU through any API, which is the output of `env
/// GPU`: the chosen selectors, and variables that hide the machine's other GPUs in APIs that don't
/// list this one. Empty if no selector exists.
std::map<std::string, std::string> environment_for(const Report& report, const Gpu& gpu);

/// The ids of other GPUs that environment_for() leaves visible to programs that read only the
/// variables of the Vulkan loader and its layers.
std::vector<std::string> seen_beside(const Report& report, const Gpu& gpu);

}  // namespace gpuprobe::inline policy
