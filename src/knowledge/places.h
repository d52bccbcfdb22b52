// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Which package has what on which distribution, and how a container is given a GPU:
/// data/knowledge/distributions.json.
namespace gpuprobe::knowledge {

/// Something that a distribution's packages bring.
struct PackageRole {
    std::string says = {};     ///< "the Vulkan loader"
    bool is_for_host = false;  ///< of the kernel: never of a container
    /// The only processor that it is made for, as `uname -m` has it; none: any.
    std::optional<std::string> machine = {};
};

struct Distribution {
    std::string id = {};    ///< ID of os-release(5), or a name that other rows are `like`
    std::string name = {};  ///< for people
    std::optional<std::string> version = {};  ///< VERSION_ID or its first part; none: any
    std::optional<std::string> variant = {};  ///< VARIANT_ID; none: any
    std::optional<std::string> like = {};     ///< the row that has what this one lacks
    /// VERSION_ID counts as that one's does, so that its row of the same version is meant.
    std::optional<bool> has_same_versions = {};
    /// Commands by what they do: "install", "purge", "owner", "initramfs",
    /// "kernel-add", "kernel-remove". "{}" stands for their object.
    std::map<std::string, std::string> commands = {};
    std::map<std::string, std::string> packages = {};  ///< by role; "" where there is none
    std::map<std::string, std::string> notes = {};     ///< by role: what else is to be known
    /// What "{machine}" stands for in the names of packages, by `uname -m`.
    std::map<std::string, std::string> machines = {};
    /// Packages can't be installed into the running system: what to do in their place.
    std::optional<std::string> image = {};
};

/// A container's kind, or a sandbox's: how it is given a device.
struct Engine {
    std::string id = {};
    std::string name = {};
    std::optional<std::string> container = {};         ///< the kind whose row it is; none: its id
    std::optional<std::string> kernel = {};            ///< how the kernel's release ends; none: any
    std::map<std::string, std::string> commands = {};  ///< "nvidia", "node", "group", "mig" …
};

class Places {
public:
    /// What is in use, until another library is.
    static const Places& current();
    /// Errors: Malformed, TooLarge, with the row and member at fault.
    static Result<Places> from(std::string_view json);

    /// The row that fits best; nullptr where none does.
    [[nodiscard]] const Distribution* find(std::string_view id,
                                           std::string_view version,
                                           std::string_view variant) const;
    /// Of a kind of container or sandbox, under that kernel; nullptr where no row fits.
    [[nodiscard]] const Engine* engine(std::string_view kind, std::string_view kernel) const;
    [[nodiscard]] const PackageRole* role(std::string_view id) const;
    /// Of this row, or of those that it is like; nullptr where none tells. A key "mesa-vulkan.amd"
    /// is a "mesa-vulkan" where nothing more exact is told. `version` is that of the machine.
    [[nodiscard]] const std::string* told(const Distribution& row,
                                          std::map<std::string, std::string> Distribution::*what,
                                          const std::string& key,
                                          std::string_view version) const;

private:
    std::map<std::string, PackageRole, std::less<>> roles_ = {};
    std::vector<Distribution> distributions_ = {};
    std::vector<Engine> engines_ = {};
};

}  // namespace gpuprobe::knowledge
