// SPDX-License-Identifier: Apache-2.0
#include "cli/known_consumers.h"

#include "base/files.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxProfile = kib(256);

void add_folder(ProfileSet& profiles, const std::string& folder) {
    const RootedFiles files;
    const auto names = files.list(folder);
    if (!names)
        return;
    for (const auto& name : *names) {
        const auto path = folder + "/" + name;
        const auto text = name.ends_with(".json") ? files.read(path, kMaxProfile)
                                                  : Result<std::string>{std::string{}};
        if (text && !text->empty())
            (void)profiles.add(*text, path);  // a broken one is the engine's to report
    }
}

}  // namespace

ProfileSet known_profiles(const std::vector<std::string>& folders) {
    auto profiles = ProfileSet::with_builtins();
    if (!profiles)
        return {};
    add_folder(*profiles, kProfileFolder);
    for (const auto& folder : folders)
        add_folder(*profiles, folder);
    return std::move(profiles).value();
}

std::vector<std::string> known_consumers(const std::vector<std::string>& folders) {
    return known_profiles(folders).names();
}

}  // namespace gpuprobe
