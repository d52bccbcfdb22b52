// SPDX-License-Identifier: Apache-2.0
#include "probe/target.h"

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "probe/manifest.h"
#include "report/api_table.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxDrivers = 64;
constexpr int kWordBits = static_cast<int>(sizeof(void*)) * 8;
constexpr std::size_t kMaxTargetNote = 512;

/// One API's search, folder by folder.
class DriverSearch {
public:
    /// Reads a manifest; nullopt when it is for another processor.
    using Reader = Result<std::optional<std::string>> (*)(std::string_view text,
                                                          std::string_view path);

    DriverSearch(const FileSystem& files, std::string api, std::string suffix, Reader reader)
        : files_{files}, api_{std::move(api)}, suffix_{std::move(suffix)}, reader_{reader} {}

    void visit(const std::string& folder) {
        const auto names = files_.list(folder);
        if (!names) {
            if (names.error().code != ErrorCode::NotFound)
                refuse(folder, "unreadable-manifest", names.error().text);
            return;
        }
        for (const auto& name : *names)
            if (name.ends_with(suffix_) && !is_for_another_processor(name))
                consider(folder + "/" + name);
    }

    void add_to(TargetSearch& search) && {
        if (targets_.empty())
            targets_.push_back(ProbeTarget{.api = api_});
        std::ranges::move(targets_, std::back_inserter(search.targets));
        std::ranges::move(unusable_, std::back_inserter(search.unusable));
    }

private:
    void consider(const std::string& path) {
        if (seen_.size() == kMaxDrivers)
            return;
        auto real = files_.real_path(path).value_or(path);
        if (std::ranges::find(seen_, real) != seen_.end())
            return;
        seen_.push_back(std::move(real));
        const auto text = files_.read(path, kMaxManifest);
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
    std::vector<std::string> seen_ = {};  ///< resolved paths
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

}  // namespace

TargetSearch find_targets(const FileSystem& files, const TargetFolders& folders) {
    TargetSearch search;
    for (const auto& api : kApis)
        if (!api.has_manifests && api.id != Api::Cpu)
            search.targets.push_back(ProbeTarget{.api = std::string{api.word}});
    DriverSearch vulkan{files, "vulkan", ".json", vulkan_library};
    for (const auto& folder : folders.vulkan)
        vulkan.visit(folder);
    std::move(vulkan).add_to(search);
    DriverSearch opencl{files, "opencl", ".icd", opencl_library};
    for (const auto& folder : folders.opencl)
        opencl.visit(folder);
    std::move(opencl).add_to(search);
    return search;
}

}  // namespace gpuprobe::inline probe
