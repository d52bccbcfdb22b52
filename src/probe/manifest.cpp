// SPDX-License-Identifier: Apache-2.0
#include "probe/manifest.h"

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "base/value_json.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxLibrary = 4096;

/// As uname -m, package names and Mesa's build spell processors.
constexpr std::array<std::string_view, 22> kProcessors = {
    "x86_64",  "amd64",  "i386",     "i486",        "i586",    "i686",    "x86",   "aarch64",
    "arm64",   "armv6l", "armv7l",   "armhf",       "arm",     "riscv64", "ppc64", "ppc64le",
    "ppc64el", "s390x",  "mips64el", "loongarch64", "loong64", "sparc64"};

#if defined(__x86_64__)
constexpr std::array<std::string_view, 2> kOurs = {"x86_64", "amd64"};
#elif defined(__aarch64__)
constexpr std::array<std::string_view, 2> kOurs = {"aarch64", "arm64"};
#elif defined(__i386__)
constexpr std::array<std::string_view, 5> kOurs = {"i386", "i486", "i586", "i686", "x86"};
#elif defined(__arm__)
constexpr std::array<std::string_view, 4> kOurs = {"armv6l", "armv7l", "armhf", "arm"};
#elif defined(__riscv)
constexpr std::array<std::string_view, 1> kOurs = {"riscv64"};
#else
constexpr std::array<std::string_view, 0> kOurs = {};
#endif

Error malformed(std::string text) {
    return Error{ErrorCode::Malformed, std::move(text)};
}

/// A library's name as dlopen takes it, or why it can't be one.
std::string library_problem(std::string_view name) {
    if (name.empty())
        return "names no library";
    if (name.size() > kMaxLibrary)
        return "the library's name is too long";
    if (scrubbed(name, kMaxLibrary) != name)
        return "the library's name is not text";
    return {};
}

}  // namespace

Result<VulkanManifest> parse_vulkan_manifest(std::string_view text, std::string_view path) {
    const auto document = TRY(parse_json(text, kMaxManifest));
    const auto* icd = document.find("ICD");
    if (!icd || !icd->is_object())
        return malformed("ICD: missing");
    const auto* library = icd->at("library_path").as_string();
    if (!library)
        return malformed("ICD.library_path: missing");
    if (auto problem = library_problem(*library); !problem.empty())
        return malformed("ICD.library_path: " + problem);
    VulkanManifest manifest{.library = *library};
    const bool is_relative = library->find('/') != std::string::npos && library->front() != '/';
    if (is_relative)
        manifest.library.insert(0, path.substr(0, path.find_last_of('/') + 1));
    if (const auto* bits = icd->at("library_arch").as_string())
        manifest.word_bits = parse_number<int>(*bits);
    return manifest;
}

Result<std::string> parse_icd_file(std::string_view text) {
    const auto library = trimmed(text.substr(0, text.find('\n')));
    if (auto problem = library_problem(library); !problem.empty())
        return malformed(problem);
    return std::string{library};
}

bool is_for_another_processor(std::string_view name) {
    const auto pieces = split(name, '.');
    if (pieces.size() < 3)
        return false;
    const auto word = lower_case(pieces[pieces.size() - 2]);
    return std::ranges::find(kProcessors, word) != kProcessors.end() &&
           std::ranges::find(kOurs, word) == kOurs.end();
}

}  // namespace gpuprobe::inline probe
