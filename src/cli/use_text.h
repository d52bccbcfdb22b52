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

/// What a program took, and why more may have been taken than was seen.
struct SeenUse {
    std::vector<watch::DeviceUse> devices = {};
    std::set<watch::Doubt> doubts = {};
    std::set<Api> loaded = {};  ///< APIs whose library was loaded
};

/// What a program was to use. The backend "cpu", or none: no GPU.
struct ChosenUse {
    std::string backend = {};
    std::vector<std::string> gpus = {};  ///< ids, also of units
};

/// Whether it took what was chosen: nothing but those GPUs, through that backend. nullopt where
/// that cannot be seen.
std::optional<bool> is_as_chosen(const SeenUse& seen,
                                 const ChosenUse& chosen,
                                 const Report& report);
/// Whether a GPU was used through the API of that backend or word; for "cpu" whether none was.
std::optional<bool> is_as_expected(const SeenUse& seen,
                                   std::string_view word,
                                   const Report& report);
/// Whether that word names an API that programs compute through, or a backend.
bool is_expectable(std::string_view word);

/// Whether a word that is_expectable() and a backend mean the same API: "hip" and "rocm".
bool is_same_api(std::string_view word, std::string_view backend);

/// "NVIDIA H200, 18.2 GiB through CUDA"; several are joined by "and".
std::string devices_text(const std::vector<watch::DeviceUse>& devices, const Report& report);
/// "took …", "took no GPU although cuda was chosen", or why that is not known.
std::string outcome_text(const SeenUse& seen, const ChosenUse& chosen, const Report& report);
/// "a process may not be looked into".
std::string doubts_text(const std::set<watch::Doubt>& doubts);
/// "cuda on NVIDIA H200".
std::string chosen_text(const ChosenUse& chosen, const Report& report);

/// [{device, name, memory, apis, processes}].
Value devices_document(const std::vector<watch::DeviceUse>& devices, const Report& report);
/// The words of APIs, sorted.
Value apis_document(const std::set<Api>& apis);
/// ["process-not-readable", …].
Value doubts_document(const std::set<watch::Doubt>& doubts);

}  // namespace gpuprobe::inline cli
