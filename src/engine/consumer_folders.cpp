// SPDX-License-Identifier: Apache-2.0
#include "engine/consumer_folders.h"

#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe::engine {

/// The first two are older and held one form each.
std::vector<std::string> consumer_folders(const std::vector<std::string>& more) {
    std::vector<std::string> folders{"/etc/gpuprobe/profiles.d", "/etc/gpuprobe/catalogue",
                                     "/etc/gpuprobe/consumers"};
    folders.insert(folders.end(), more.begin(), more.end());
    return folders;
}

ConsumerSet consumers_in(const std::vector<std::string>& folders, std::vector<Reason>* ignored) {
    auto consumers = ConsumerSet::with_builtins();
    const RootedFiles files;
    for (const auto& folder : folders)
        for (const auto& name : files.list(folder).value_or({})) {
            if (!name.ends_with(".json"))
                continue;
            const auto path = folder + "/" + name;
            const auto text = files.read(path, kMaxManifest);
            const auto added = text ? consumers.add(*text, path) : Status{text.error()};
            if (!added && ignored)
                ignored->push_back(
                    because("profile-ignored",
                            {{"file", path}, {"problem", scrubbed(added.error().text)}}));
        }
    return consumers;
}

}  // namespace gpuprobe::engine
