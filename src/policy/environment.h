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

/// The template with all facts filled in; nullopt if one of the facts is unknown.
std::optional<std::string> filled(std::string_view text, const Selection& selection);

/// The rule with all facts filled in; nullopt if one of the facts is unknown.
std::optional<Variables> filled(const EnvironmentRule& rule, const Selection& selection);

/// The environment that the processes of an application read.
struct Access {
    std::vector<const knowledge::Reader*> readers = {};  ///< borrowed from the data file
    /// Variables that the processes read or pass on.
    std::set<std::string, std::less<>> variables = {};
};

/// The environment that the profile of the application declares. If the profile declares no
/// environment, the environment consists of the variables that the libraries below the profile's
/// backends read, and of the variables that the profile sets.
Access access_of(const Profile& profile);

/// Whether a template in the profile's environment may contain a name: a selector fact, or "=NAME"
/// for an answer in the profile.
bool is_environment_fact(const Profile& profile, std::string_view name);

/// Whether an environment contains variables that prefer a GPU, but do not always hide other GPUs.
enum class Preferences { Included, LeftOut };

/// The variables that restrict the application to the selected GPUs and `backend`. If all facts are
/// known, the application then uses exactly the selected GPUs, and no device of any other API. If
/// the backend is the CPU, the variables hide all devices. `answers` are the profile's answers for
/// the selection. The rules of the profile take precedence.
Variables environment_of(const Profile& profile,
                         std::string_view backend,
                         const Selection& selection,
                         const Variables& answers,
                         Preferences preferences = Preferences::Included);

/// A reason `not-hidden` for each API through which the application can use a GPU outside the
/// selection, because the API has no environment variable for hiding GPUs. `backend` is the chosen
/// backend, whose API is left out.
std::vector<Reason> not_hidden(const Profile& profile,
                               std::string_view backend,
                               const Selection& selection);

/// If the environment hides all devices of an API, this function also hides the devices that the
/// caller's own variables would add to this API.
void hide_additions(const Access& access, const Variables& callers, Variables& environment);

/// Those variables in `environment` (as in environ(7)) that hidden_by() and hide_additions()
/// evaluate, and CUDA_DEVICE_ORDER, which affects how other variables are interpreted.
Variables hiding_variables(const char* const* environment);

/// A reason `hidden-by-environment` for each of the caller's variables that is known to hide the
/// GPU from an application that uses `backend`. `selection` contains the GPUs that the application
/// should use, and `answer` is the environment that selects these GPUs.
std::vector<Reason> hidden_by(const Variables& callers,
                              const Access& access,
                              std::string_view backend,
                              const Gpu& gpu,
                              const Selection& selection,
                              const Variables& answer);

/// A variable of the caller that hides a GPU from the programs that use an API.
struct HidingVariable {
    std::string variable = {};
    std::string value = {};
    std::string api = {};  ///< name of the API
    /// Whether programs can still use the GPU through the API of the GPU's vendor, such as CUDA.
    bool leaves_own_api = false;
};
RECORD_MEMBERS(HidingVariable, variable, value, api, ("own_api", leaves_own_api))

/// The caller's variables that are known to hide the GPU, no matter which application reads them.
/// An API counts if it lists the GPU, or if it is the API of the GPU's vendor.
std::vector<HidingVariable> hiding(const Variables& callers, const Gpu& gpu, const Report& report);

using knowledge::SelectorKind;

/// A way to make a runtime use only one GPU.
struct GpuSelector {
    /// The runtime, which is an API such as "cuda", or "opengl", "container" or "ggml".
    std::string api = {};
    SelectorKind kind = SelectorKind::Stable;
    /// The selected partition of the GPU, if a partition is selected instead of the whole GPU.
    std::optional<std::string> partition = {};
    /// Variables that select the GPU; empty if an argument selects the GPU.
    std::map<std::string, std::string> variables = {};
    /// For programs that use an argument to select a GPU.
    std::optional<std::string> argument = {};
    /// Variables that must be set in addition to the variables that select the GPU.
    std::map<std::string, std::string> environment = {};
    bool operator==(const GpuSelector&) const = default;
};
RECORD_MEMBERS(GpuSelector, api, kind, partition, variables, argument, environment)

/// All selectors that, according to the report, certainly select this GPU; within each API, the
/// best selector comes first. For a partitioned GPU, the selectors for all partitions together
/// precede the selectors for each partition. `gpu` must belong to the report or to a ComputeView.
std::vector<GpuSelector> gpu_selectors(const Report& report, const Gpu& gpu);

/// Whether a shell and systemd can set the variable to the value, and a terminal can show the
/// value. The variable's name must consist of letters, digits and "_", and must not begin with a
/// digit. The value must consist of printable characters.
bool is_settable(std::string_view name, std::string_view value);

/// The variables of the selector, together with the variables that the selector needs in addition.
std::map<std::string, std::string> needs_of(const GpuSelector& selector);

/// The selectors that can be used together: the best selector of each API, unless this selector
/// conflicts with an earlier selector. Selectors of partitions are excluded.
std::vector<const GpuSelector*> chosen_selectors(const std::vector<GpuSelector>& selectors);

/// The variables that make programs use only this GPU through any API, as `env GPU` prints them:
/// the chosen selectors, and the variables that hide the machine's other GPUs in APIs that do not
/// list this GPU. The result is empty if there is no selector.
std::map<std::string, std::string> environment_for(const Report& report, const Gpu& gpu);

/// The ids of other GPUs that environment_for() leaves visible to programs that read only the
/// variables of the Vulkan loader and its layers.
std::vector<std::string> seen_beside(const Report& report, const Gpu& gpu);

/// Other GPUs that programs can open through one API.
struct VisibleGpus {
    std::string_view api = {};           ///< name in kApis
    std::vector<std::string> gpus = {};  ///< ids
    bool operator==(const VisibleGpus&) const = default;
};

/// The other GPUs that each API still lists, because environment_for() neither selects this GPU in
/// the API nor hides the other GPUs. seen_beside() returns additional GPUs.
std::vector<VisibleGpus> not_hidden(const Report& report, const Gpu& gpu);

}  // namespace gpuprobe::inline policy
