// SPDX-License-Identifier: Apache-2.0
#include "probe/target.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <ranges>
#include <set>

#include "base/text.h"
#include "base/value.h"
#include "report/api_table.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxDrivers = 64;
constexpr int kWordBits = static_cast<int>(sizeof(void*)) * 8;
constexpr std::size_t kMaxTargetNote = 512;

/// The name without folder and ending: "libpocl" for "/usr/lib/libpocl.so.2.10.0".
std::string_view plain_name(std::string_view library) {
    const auto name = library.substr(library.find_last_of('/') + 1);
    return name.substr(0, name.find(".so"));
}

/// Collects the driver manifests of one API, folder by folder.
class DriverSearch {
public:
    /// Returns the library that a manifest names; nullopt for manifests of another architecture.
    using Reader = Result<std::optional<std::string>> (*)(std::string_view text,
                                                          std::string_view path);

    DriverSearch(const FileSystem& files, std::string api, std::string suffix, Reader reader)
        : files_{files}, api_{std::move(api)}, suffix_{std::move(suffix)}, reader_{reader} {}

    /// Adds a driver without a manifest, unless a manifest also names the driver's library,
    /// possibly with a folder or a longer version. A loader loads each library only once.
    void add_library(const NamedDriver& named) {
        const auto is_same = [name = plain_name(named.path)](const ProbeTarget& target) {
            return target.library && plain_name(*target.library) == name;
        };
        if (seen_.size() == kMaxDrivers || std::ranges::any_of(targets_, is_same))
            return;
        seen_.emplace(named.path, named.path);
        variables_[named.path] = named.variable;
        targets_.push_back(ProbeTarget{.api = api_, .driver = named.path, .library = named.path});
    }

    /// Adds a manifest, or all manifests in a folder. A path that does not exist is reported,
    /// because programs find no driver there.
    void visit_named(const NamedDriver& named) {
        variable_ = named.variable;
        if (named.path.ends_with(suffix_))
            consider(named.path);
        else if (!files_.list(named.path))
            refuse(named.path, "unreadable-manifest", named.path + ": not a folder");
        else
            visit(named.path);
        variable_.clear();
    }

    void visit(const std::string& folder) {
        const auto names = files_.list(folder);
        if (!names) {
            // A missing folder is normal. Any other error hides drivers and is therefore reported.
            if (names.error().code != ErrorCode::NotFound)
                refuse(folder, "unreadable-manifest", names.error().text);
            return;
        }
        for (const auto& name : *names)
            if (name.ends_with(suffix_) && !is_for_another_processor(name))
                consider(folder + "/" + name);
    }

    void add_to(TargetSearch& search) && {
        // If there is no manifest, one worker still checks whether the API's loader is installed.
        if (targets_.empty())
            targets_.push_back(ProbeTarget{.api = api_});
        std::ranges::move(targets_, std::back_inserter(search.targets));
        std::ranges::move(unusable_, std::back_inserter(search.unusable));
        search.variables.merge(variables_);
    }

private:
    void consider(const std::string& path) {
        if (seen_.size() == kMaxDrivers)
            return;
        // There may be links to the same manifest in several folders; only the first is used.
        const auto [entry, is_new] = seen_.emplace(files_.real_path(path).value_or(path), path);
        if (!is_new) {
            // Loaders also find this driver without the variable.
            if (variable_.empty())
                variables_.erase(entry->second);
            return;
        }
        if (!variable_.empty())
            variables_[path] = variable_;
        const auto text = files_.read(path, kMaxDriverManifest);
        if (!text)
            return refuse(path, "unreadable-manifest", text.error().text);
        auto library = reader_(*text, path);
        if (!library)
            return refuse(path, "malformed-manifest", path + ": " + library.error().text);
        if (*library)
            targets_.push_back(
                ProbeTarget{.api = api_, .driver = path, .library = *std::move(library)});
    }

    void refuse(const std::string& path, ReasonCode code, const std::string& problem) {
        if (!variable_.empty())
            variables_[path] = variable_;
        unusable_.push_back(ProbeResult{.api = api_,
                                        .driver = path,
                                        .outcome = Outcome::Failed,
                                        .note = scrubbed(problem, kMaxTargetNote),
                                        .reasons = {because(code)}});
    }

    const FileSystem& files_;
    std::string api_ = {};
    std::string suffix_ = {};
    Reader reader_ = nullptr;
    std::string variable_ = {};  ///< the variable that names the visited path
    /// Maps resolved paths to the paths under which they were found first.
    std::map<std::string, std::string> seen_ = {};
    DriverVariables variables_ = {};
    std::vector<ProbeTarget> targets_ = {};
    std::vector<ProbeResult> unusable_ = {};
};

Result<std::optional<std::string>> vulkan_library(std::string_view text, std::string_view path) {
    auto manifest = TRY(parse_vulkan_manifest(text, path));
    if (manifest.word_bits.value_or(kWordBits) != kWordBits)
        return std::optional<std::string>{};
    return std::optional{std::move(manifest.library)};
}

Result<std::optional<std::string>> opencl_library(std::string_view text, std::string_view) {
    return std::optional{TRY(parse_icd_file(text))};
}

constexpr std::size_t kMaxLibrary = 4096;

/// CPU architectures as spelled by uname -m, package names and Mesa's build.
constexpr std::array<std::string_view, 22> kProcessors = {
    "x86_64",  "amd64",  "i386",     "i486",        "i586",    "i686",    "x86",   "aarch64",
    "arm64",   "armv6l", "armv7l",   "armhf",       "arm",     "riscv64", "ppc64", "ppc64le",
    "ppc64el", "s390x",  "mips64el", "loongarch64", "loong64", "sparc64"};

/// The spellings of the architecture that this program was compiled for.
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

/// Adds a target for each node of the API on the machine, at most kMaxDrivers.
void add_own_nodes(const Machine& machine, const ApiInfo& api, TargetSearch& search) {
    std::set<std::string> nodes;
    const auto add = [&](const std::string& path) {
        if (path.starts_with(api.nodes))
            nodes.insert(path);
    };
    for (const auto& device : machine.devices) {
        for (const auto& node : device.nodes)
            add(node.path);
        for (const auto& partition : device.partitions)
            std::ranges::for_each(partition.nodes, add);
    }
    for (const auto& path : nodes | std::views::take(kMaxDrivers))
        search.targets.push_back(ProbeTarget{.api = std::string{api.word}, .driver = path});
}

Error malformed(std::string text) {
    return Error{ErrorCode::Malformed, std::move(text)};
}

/// The reason why the name can't be passed to dlopen(); empty if it can be passed.
std::string library_problem(std::string_view name) {
    if (name.empty())
        return "does not name a library";
    if (name.size() > kMaxLibrary)
        return "the library's name is too long";
    if (scrubbed(name, kMaxLibrary) != name)
        return "the library's name is not text";
    return {};
}

}  // namespace

void add_from_environment(TargetFolders& folders, const char* (*get)(const char* name)) {
    const auto add = [get](const char* name, bool is_path, std::vector<NamedDriver>& out) {
        const char* value = get(name);
        for (const auto item : split(value ? value : "", ':'))
            if (library_problem(item).empty() && (!is_path || item.starts_with('/')) &&
                out.size() < kMaxDrivers)
                out.push_back({.path = std::string{item}, .variable = name});
        return value && *value;
    };
    for (const auto* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"})
        if (add(name, true, folders.vulkan_named))
            break;
    add("OCL_ICD_VENDORS", true, folders.opencl_named);
    add("OCL_ICD_FILENAMES", false, folders.opencl_added);
}

void add_from_environment(TargetFolders& folders) {
    add_from_environment(folders,
                         [](const char* name) -> const char* { return ::secure_getenv(name); });
}

TargetSearch find_targets(const FileSystem& files,
                          const Machine& machine,
                          const TargetFolders& folders) {
    TargetSearch search;
    // The CPU needs no probe: it has neither a driver nor a device to query.
    for (const auto& api : kApis)
        if (!api.has_manifests && api.nodes.empty() && api.id != Api::Cpu)
            search.targets.push_back(ProbeTarget{.api = std::string{api.word}});
    DriverSearch vulkan{files, "vulkan", ".json", vulkan_library};
    for (const auto& named : folders.vulkan_named)
        vulkan.visit_named(named);
    for (const auto& folder : folders.vulkan)
        vulkan.visit(folder);
    std::move(vulkan).add_to(search);
    DriverSearch opencl{files, "opencl", ".icd", opencl_library};
    for (const auto& named : folders.opencl_named)
        opencl.visit_named(named);
    for (const auto& folder : folders.opencl)
        opencl.visit(folder);
    for (const auto& library : folders.opencl_added)
        opencl.add_library(library);
    std::move(opencl).add_to(search);
    for (const auto& api : kApis)
        if (!api.nodes.empty())
            add_own_nodes(machine, api, search);
    return search;
}

Result<VulkanManifest> parse_vulkan_manifest(std::string_view text, std::string_view path) {
    const auto document = TRY(parse_json(text, kMaxDriverManifest));
    const auto* icd = document.find("ICD");
    if (!icd || !icd->is_object())
        return malformed("ICD: missing");
    const auto* library = icd->at("library_path").as_string();
    if (!library)
        return malformed("ICD.library_path: missing");
    if (auto problem = library_problem(*library); !problem.empty())
        return malformed("ICD.library_path: " + problem);
    VulkanManifest manifest{.library = *library};
    // A name without a slash is a soname that dlopen() searches for, so the name isn't changed.
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
    // Check for known architectures only, because the middle piece may be a version or any other
    // word.
    const auto word = lower_case(pieces[pieces.size() - 2]);
    return std::ranges::find(kProcessors, word) != kProcessors.end() &&
           std::ranges::find(kOurs, word) == kOurs.end();
}

}  // namespace gpuprobe::inline probe
