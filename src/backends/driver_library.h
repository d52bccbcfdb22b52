// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/symbols.h"

/// How every backend comes by its driver's functions.
namespace gpuprobe::backends {

/// Tells the phase "dlopen" and loads. Absent when there is no such library, Failed when it does
/// not load.
Asked<DynamicLibrary> open_library(const std::string& name, Sink& sink);
Answer not_loaded(const Error& problem);

/// The functions that a query calls. Failed when the library lacks one.
template <class Table, class Source>
Asked<Table> query_functions(const Source& source) {
    auto table = load<Table>(source);
    if (!table)
        return Answer{.outcome = Outcome::Failed, .note = table.error().text};
    return *std::move(table);
}

/// The functions that run kernels on a device. Refusals: `api-refused` when there is none of a
/// name.
template <class Table, class Source>
Attempt<Table> compute_functions(const Source& source) {
    auto table = load<Table>(source);
    if (!table)
        return Refusal{.code = "api-refused", .note = table.error().text};
    return *std::move(table);
}

/// The member "loader": the file that the library is.
Value runtime_of(const DynamicLibrary& library);

/// Why a loader found nothing behind a manifest, where its library is to blame: Absent with
/// `driver-missing` when it is not there, Failed with the linker's words when it does not load. A
/// loader says the same for these as for a driver without a device. nullopt when the library loads,
/// or none is named; it stays loaded, as the loader would have left it.
std::optional<Answer> without_library(const ProbeTarget& target);

}  // namespace gpuprobe::backends
