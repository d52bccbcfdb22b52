// SPDX-License-Identifier: Apache-2.0
#include "report/api_table.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace gpuprobe::inline report {
namespace {

/// Libraries that GPU builds need and do not bundle, and that no API's row lists; also the
/// libraries through which programs use NPUs and ROCm on WSL, and Mesa's device-select layer, which
/// some distributions package separately. Sources: the same as for ApiLibraries;
/// intel/linux-npu-driver#107, amd/xdna-driver#168, ROCm/librocdxg#35.
constexpr std::string_view kOfHost =
    "libVkLayer_MESA_device_select libascendcl libcurl libdnnl libgfortran libgomp libimf libintlc "
    "libmkl_core libmusa libmusart "
    "libnuma libomp libopenblas libopenvino librocdxg libssl libstdc++ libsvml libtbb libxrt_core "
    "libze_intel_npu libze_intel_vpu";

/// Sources: glibc's and musl's lists of installed libraries; GCC's runtime libraries.
constexpr auto kBase = std::to_array<std::string_view>(
    {"ld-linux", "libBrokenLocale", "libanl", "libatomic", "libc", "libdl", "libgcc_s", "libm",
     "libmvec", "libpthread", "libresolv", "librt", "libutil", "linux-vdso"});

/// The part of the soname before ".so".
std::string_view stem_of(std::string_view soname) {
    return soname.substr(0, std::min(soname.find(".so"), soname.size()));
}

using LibraryTable = std::map<std::string_view, LibraryInfo>;

/// All known libraries, by the part of the soname before ".so". An API's row takes precedence over
/// the host list.
LibraryTable all_libraries() {
    LibraryTable all;
    for (const auto& api : kApis) {
        const auto& linked = api.linked;
        for (const auto list : {linked.of_driver, linked.toolkit, linked.others})
            for (const auto stem : words(list))
                all.try_emplace(
                    stem, LibraryInfo{.stem = stem,
                                      .api = api.id,
                                      .is_of_driver = has_word(linked.of_driver, stem),
                                      .has_toolkit_version = has_word(linked.toolkit, stem),
                                      .is_in_host_reports = !has_word(linked.unlisted, stem)});
    }
    for (const auto stem : words(kOfHost))
        all.try_emplace(stem, LibraryInfo{.stem = stem, .is_in_host_reports = true});
    return all;
}

}  // namespace

std::optional<LibraryInfo> library_info(std::string_view soname) {
    static const LibraryTable all = all_libraries();
    const auto known =
        soname.find(".so") == std::string_view::npos ? all.end() : all.find(stem_of(soname));
    return known == all.end() ? std::nullopt : std::optional{known->second};
}

bool is_listed_library(std::string_view soname) {
    const auto info = library_info(soname);
    return info && info->is_in_host_reports;
}

std::optional<Api> api_of_code(std::string_view word) {
    // A prefix counts only if the word ends there or a digit follows: "sm_86", but not "gfx" in
    // "gfxstream".
    const auto is_one = [word](std::string_view lead) {
        const auto rest = word.substr(std::min(lead.size(), word.size()));
        return word.starts_with(lead) && (rest.empty() || (rest[0] >= '0' && rest[0] <= '9'));
    };
    for (const auto& api : kApis)
        if (std::ranges::any_of(words(api.code), is_one))
            return api.id;
    // The word isn't a kernel target, so it may be the name of an API.
    const auto* named = find_api(word);
    return named && computes(*named) ? std::optional{named->id} : std::nullopt;
}

bool is_base_library(std::string_view soname) {
    const auto stem = stem_of(soname);
    return stem.starts_with("ld-linux") || stem.starts_with("libc.musl") ||
           std::ranges::find(kBase, stem) != kBase.end();
}

}  // namespace gpuprobe::inline report
