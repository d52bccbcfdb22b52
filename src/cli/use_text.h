// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"
#include "watch/watcher.h"

namespace gpuprobe::inline cli {

/// The devices that a program used, and reasons why it may have used more than was seen.
struct SeenUse {
    std::vector<watch::DeviceUse> devices = {};
    std::set<watch::Doubt> doubts = {};
    std::set<Api> loaded = {};  ///< APIs whose library was loaded
};

/// The choice that a program was started with. A backend of "cpu" or "" means no GPU.
struct ChosenUse {
    std::string backend = {};
    std::vector<std::string> gpus = {};  ///< ids of GPUs and partitions
};

/// Whether the program used only the chosen GPUs, through the chosen backend. nullopt if that can't
/// be determined.
std::optional<bool> is_as_chosen(const SeenUse& seen,
                                 const ChosenUse& chosen,
                                 const Report& report);
/// Whether a GPU was used through the API of that backend or API name; for "cpu", whether no GPU
/// was used. nullopt if that can't be determined.
std::optional<bool> is_as_expected(const SeenUse& seen,
                                   std::string_view word,
                                   const Report& report);
/// Whether the word is valid for --expect: "cpu", a backend, or an API through which programs
/// compute.
bool is_expectable(std::string_view word);

/// Whether a valid word for --expect and a backend mean the same API, as "hip" and "rocm" do.
bool is_same_api(std::string_view word, std::string_view backend);

/// "NVIDIA H200, 18.2 GiB through CUDA"; several devices are joined with "and".
std::string devices_text(const std::vector<watch::DeviceUse>& devices, const Report& report);
/// "took …", "took no GPU although cuda was chosen", or why it is not known.
std::string outcome_text(const SeenUse& seen, const ChosenUse& chosen, const Report& report);
/// The doubts as text, separated by semicolons.
std::string doubts_text(const std::set<watch::Doubt>& doubts);
/// "cuda on NVIDIA H200": the choice.
std::string chosen_text(const ChosenUse& chosen, const Report& report);

/// The devices as JSON: [{device, name, memory, apis, processes}].
Value devices_document(const std::vector<watch::DeviceUse>& devices, const Report& report);
/// The names of the APIs as a sorted JSON array.
Value apis_document(const std::set<Api>& apis);
/// The doubts as JSON: ["process-not-readable", …].
Value doubts_document(const std::set<watch::Doubt>& doubts);

}  // namespace gpuprobe::inline cli
