// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/symbols.h"

/// Loading a driver's library and looking up its functions, as every backend does it.
namespace gpuprobe::backends {

/// Reports the phase "dlopen" and loads the library. The answer is Absent if the library
/// is missing, Failed if it does not load.
Asked<DynamicLibrary> open_library(const std::string& name, Sink& sink);
/// The answer for a failed DynamicLibrary::open().
Answer not_loaded(const Error& problem);

/// The table of functions that a query calls. Failed if the library lacks one of them.
template <class Table, class Source>
Asked<Table> query_functions(const Source& source) {
    auto table = load<Table>(source);
    if (!table)
        return Answer{.outcome = Outcome::Failed, .note = table.error().text};
    return *std::move(table);
}

/// The table of functions that run kernels on a device. Refusals: `api-refused` if the library
/// lacks one of them.
template <class Table, class Source>
Attempt<Table> compute_functions(const Source& source) {
    auto table = load<Table>(source);
    if (!table)
        return Refusal{.code = "api-refused", .note = table.error().text};
    return *std::move(table);
}

/// Runtime facts with the member "loader": the library's file, or its name if the file is unknown.
Value runtime_of(const DynamicLibrary& library);

/// The reason why a loader found no device for a manifest, if the manifest's library is the cause:
/// Absent with `driver-missing` if the file does not exist, Failed with the dynamic linker's
/// message if it does not load. Loaders return the same error for both as for a driver without a
/// device. nullopt if the library loads or the target names no library. A library that loads stays
/// loaded, as the loader would have left it.
std::optional<Answer> without_library(const ProbeTarget& target);

}  // namespace gpuprobe::backends
