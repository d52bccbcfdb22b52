// SPDX-License-Identifier: Apache-2.0
#include "engine/profile_folders.h"

#include <optional>

#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxProfile = kib(256);

Status add_file(const RootedFiles& files, const std::string& path, ProfileSet& profiles) {
    const auto text = TRY(files.read(path, kMaxProfile));
    return profiles.add(text, path);
}

Reason ignored(const std::string& path, const Error& error) {
    return because("profile-ignored", {{"file", path}, {"problem", scrubbed(error.text)}});
}

}  // namespace

std::vector<Reason> add_profiles_of(const std::vector<std::string>& folders, ProfileSet& profiles) {
    const RootedFiles files;
    std::vector<Reason> notes;
    for (const auto& folder : folders) {
        const auto names = files.list(folder);
        if (!names)
            continue;
        for (const auto& name : *names) {
            if (!name.ends_with(".json"))
                continue;
            const auto path = folder + "/" + name;
            if (const auto added = add_file(files, path, profiles); !added)
                notes.push_back(ignored(path, added.error()));
        }
    }
    return notes;
}

}  // namespace gpuprobe
