// SPDX-License-Identifier: Apache-2.0
#include "report/libraries.h"

#include <algorithm>
#include <array>

#include "base/parse.h"

namespace gpuprobe::inline report {
namespace {

/// What builds for GPUs need and do not bring along, and no API is about; and what programs use
/// NPUs through. Sources: as ApiLibraries; intel/linux-npu-driver#107, amd/xdna-driver#168.
constexpr std::string_view kOfHost =
    "libascendcl libcurl libdnnl libgfortran libgomp libimf libintlc libmkl_core libmusa libmusart "
    "libnuma libomp libopenblas libopenvino libssl libstdc++ libsvml libtbb libxrt_core "
    "libze_intel_npu libze_intel_vpu";

/// Sources: glibc's and musl's lists of installed libraries; GCC's runtime libraries.
constexpr auto kBase = std::to_array<std::string_view>(
    {"ld-linux", "libBrokenLocale", "libanl", "libatomic", "libc", "libdl", "libgcc_s", "libm",
     "libmvec", "libpthread", "libresolv", "librt", "libutil", "linux-vdso"});

std::string_view stem_of(std::string_view soname) {
    return soname.substr(0, std::min(soname.find(".so"), soname.size()));
}

}  // namespace

std::optional<LibraryInfo> library_info(std::string_view soname) {
    if (soname.find(".so") == std::string_view::npos)
        return std::nullopt;
    const auto stem = stem_of(soname);
    for (const auto& api : kApis) {
        const auto& linked = api.linked;
        const bool is_of_driver = has_word(linked.of_driver, stem);
        const bool tells_toolkit = has_word(linked.toolkit, stem);
        if (is_of_driver || tells_toolkit || has_word(linked.others, stem))
            return LibraryInfo{.stem = stem,
                               .api = api.id,
                               .is_of_driver = is_of_driver,
                               .tells_toolkit = tells_toolkit,
                               .is_in_host_reports = !has_word(linked.unlisted, stem)};
    }
    return has_word(kOfHost, stem)
               ? std::optional{LibraryInfo{.stem = stem, .is_in_host_reports = true}}
               : std::nullopt;
}

bool is_listed_library(std::string_view soname) {
    const auto info = library_info(soname);
    return info && info->is_in_host_reports;
}

std::optional<Api> api_of_code(std::string_view word) {
    const auto is_one = [word](std::string_view lead) {
        const auto rest = word.substr(std::min(lead.size(), word.size()));
        return word.starts_with(lead) && (rest.empty() || (rest[0] >= '0' && rest[0] <= '9'));
    };
    for (const auto& api : kApis)
        if (std::ranges::any_of(words(api.code), is_one))
            return api.id;
    const auto* named = find_api(word);
    return named && computes(*named) ? std::optional{named->id} : std::nullopt;
}

bool is_base_library(std::string_view soname) {
    const auto stem = stem_of(soname);
    return stem.starts_with("ld-linux") || stem.starts_with("libc.musl") ||
           std::ranges::find(kBase, stem) != kBase.end();
}

}  // namespace gpuprobe::inline report
