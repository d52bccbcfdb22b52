// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <va/va.h>

#include "backends/backend.h"
#include "backends/driver_library.h"
#include "report/video.h"

namespace gpuprobe::backends {

/// Reports what the VA driver of the render node in `target.driver` can decode, encode and process.
/// libva loads the driver. The node of a sleeping device isn't opened.
Answer query_vaapi(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends

namespace gpuprobe::backends::va {

/// The functions of libva.so.2 that we call. All required functions have existed since VA-API 1.0.
/// Profiles and entry points are numbers, because a driver may report profiles or entry points that
/// the headers do not define.
struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(vaInitialize)> initialize{*this, "vaInitialize"};
    OptionalSymbol<decltype(vaSetErrorCallback)> on_error{*this, "vaSetErrorCallback"};
    Symbol<decltype(vaErrorStr)> error_text{*this, "vaErrorStr"};
    Symbol<decltype(vaQueryVendorString)> vendor{*this, "vaQueryVendorString"};
    Symbol<VAStatus(VADisplay, int*, int*)> profiles{*this, "vaQueryConfigProfiles"};
    Symbol<VAStatus(VADisplay, int, int*, int*)> entrypoints{*this, "vaQueryConfigEntrypoints"};
    Symbol<VAStatus(VADisplay, int, int, VAConfigAttrib*, int)> attributes{*this,
                                                                           "vaGetConfigAttributes"};
};

/// The properties of one profile with one entry point. A property is nullopt if the driver does not
/// report it.
struct Limits {
    std::optional<std::uint32_t> formats = {};  ///< the VA_RT_FORMAT_… bits of the surfaces
    std::optional<std::uint32_t> max_width = {};
    std::optional<std::uint32_t> max_height = {};
};

/// The entries for one profile with one entry point: one entry for each format that both the
/// profile and `limits.formats` allow, or one entry without a format if there is no such format.
std::vector<VideoEntry> entries_of(int profile, int entrypoint, const Limits& limits);

/// All entries that the driver of an initialized display reports, without duplicates, in the
/// driver's order, at most kMaxVideoEntries. Errors: the answer for the first call that failed.
Asked<std::vector<VideoEntry>> entries_of(const Symbols& api, VADisplay display);

}  // namespace gpuprobe::backends::va
