// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Package names for each distribution, and how to give a container access to a GPU:
/// data/knowledge/distributions.json.
namespace gpuprobe::knowledge {

/// A piece of software that is provided by a package of a distribution.
struct PackageRole {
    std::string name = {};  ///< name for users, such as "the Vulkan loader"
    /// whether the software belongs to the kernel and is never installed in a container
    bool is_for_host = false;
    /// The only processor architecture for which the software exists, as `uname -m` prints it; if
    /// missing, the software exists for all architectures.
    std::optional<std::string> machine = {};
    /// For packages of a kernel driver (knowledge/drivers.h), the driver, its branch or "newest",
    /// and the flavor of its kernel module; if missing, the distribution's default.
    std::optional<std::string> driver = {};
    std::optional<std::string> branch = {};
    std::optional<std::string> flavour = {};
};

/// A row for a distribution, or for one version or variant of a distribution.
struct Distribution {
    std::string id = {};    ///< ID of os-release(5), or a name to which other rows refer in `like`
    std::string name = {};  ///< display name
    /// VERSION_ID or its first part; if missing, any version
    std::optional<std::string> version = {};
    std::optional<std::string> variant = {};  ///< VARIANT_ID; if missing, any variant
    /// In a row without `version` whose packages differ between releases, the VERSION_ID of the
    /// release to which the package names belong.
    std::optional<std::string> release = {};
    /// Codename of `version` or `release`, such as "noble".
    std::optional<std::string> codename = {};
    /// In the row of an appliance that has the os-release of another distribution, a pattern for
    /// its kernel release.
    std::optional<std::string> kernel = {};
    /// the row in which to continue the search if this row lacks an entry
    std::optional<std::string> like = {};
    /// True if this distribution and the distribution that `like` names have the same VERSION_IDs,
    /// so that the other distribution's row for a version applies.
    std::optional<bool> has_same_versions = {};
    /// Commands by purpose, which is "install", "purge", "owner", "initramfs", "kernel-add" or
    /// "kernel-remove". In a command, "{}" is replaced by the package or another object.
    std::map<std::string, std::string> commands = {};
    /// package names by role; "" if the distribution has no such package
    std::map<std::string, std::string> packages = {};
    std::map<std::string, std::string> notes = {};  ///< additional advice, by role
    /// The replacements for "{machine}" in package names; the keys are the output of `uname -m`.
    std::map<std::string, std::string> machines = {};
    /// Advice for systems on which packages cannot be installed at run time.
    std::optional<std::string> image = {};
};

/// A kind of container or sandbox, and how to give it access to a device.
struct Engine {
    std::string id = {};
    std::string name = {};
    /// the kind of container that the row is about; if missing, the same as the id
    std::optional<std::string> container = {};
    /// suffix of the kernel release; if missing, any kernel
    std::optional<std::string> kernel = {};
    /// commands by purpose, such as "nvidia", "node", "group" or "mig"
    std::map<std::string, std::string> commands = {};
};

/// The row for a machine.
struct PlaceMatch {
    const Distribution* row = nullptr;  ///< the row, borrowed from Places; null if no row fits
    /// True if the row describes the nearest known release because the machine's release is
    /// unknown.
    bool is_other_release = false;
};

/// The facts from os-release(5) and the kernel that identify a machine's distribution.
struct PlaceQuery {
    std::string_view id = {};
    std::string_view version = {};
    std::string_view variant = {};
    const std::vector<std::string>& codenames;  ///< codenames of the release, borrowed
};

class Places {
public:
    /// The table of the knowledge base in use. The reference is valid until another knowledge base
    /// is put into use.
    static const Places& current();
    /// Reads distributions.json. Errors: Malformed or TooLarge; the message names the row and
    /// member at fault.
    static Result<Places> from(std::string_view json);

    /// The most specific row for a distribution; nullptr if there is no row.
    [[nodiscard]] const Distribution* find(std::string_view id,
                                           std::string_view version,
                                           std::string_view variant) const;
    /// The row for an appliance with the given kernel release; nullptr if there is no such row.
    [[nodiscard]] const Distribution* appliance(std::string_view kernel) const;
    /// The row for a release of a distribution, found by the version or, if no row has the version,
    /// by a codename.
    [[nodiscard]] PlaceMatch find(const PlaceQuery& query) const;
    /// The row for a distribution that isn't in the table. Searches the distributions on which the
    /// distribution is based, beginning with the closest, for the row of the same release or, if
    /// there is none, for the row of the nearest release.
    [[nodiscard]] PlaceMatch find_kin(PlaceQuery query, const std::vector<std::string>& kin) const;
    /// True if the table has rows for single releases of the distribution that the row describes.
    [[nodiscard]] bool has_releases(const Distribution& row) const;
    /// The entries for `key` in the map `what` from all releases of the distribution that the row
    /// describes, without duplicates. The entry from the given row comes first. An empty string
    /// means that one of the releases has no such entry.
    [[nodiscard]] std::vector<std::string> entries_of_releases(
        const Distribution& row,
        std::map<std::string, std::string> Distribution::*what,
        const std::string& key) const;
    /// The row for a kind of container or sandbox under a kernel release; nullptr if there is no
    /// such row.
    [[nodiscard]] const Engine* engine(std::string_view kind, std::string_view kernel) const;
    [[nodiscard]] const PackageRole* role(std::string_view id) const;
    /// The entry for `key` in the map `what`, from this row or from the rows to which `like` leads;
    /// nullptr if these rows have no such entry. If there is no entry for a key such as
    /// "mesa-vulkan.amd", the entry for "mesa-vulkan" is used. `version` is the VERSION_ID of the
    /// machine.
    [[nodiscard]] const std::string* entry_of(
        const Distribution& row,
        std::map<std::string, std::string> Distribution::*what,
        const std::string& key,
        std::string_view version) const;

private:
    std::map<std::string, PackageRole, std::less<>> roles_ = {};
    std::vector<Distribution> distributions_ = {};
    std::vector<Engine> engines_ = {};
};

}  // namespace gpuprobe::knowledge
