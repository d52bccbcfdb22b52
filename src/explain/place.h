// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"
#include "explain/doctor.h"
#include "explain/driver_choice.h"
#include "knowledge/places.h"

namespace gpuprobe::inline explain {

/// The environment to which a report and its fixes apply: the distribution, container and sandbox,
/// and the drivers that are possible for the GPUs.
///
/// Fixes apply to the GPU with the id `gpu`, or to the whole machine if `gpu` is empty.
class Place {
public:
    /// `report` and `surroundings` are borrowed and must outlive this object.
    Place(const Report& report, const Surroundings& surroundings);
    Place(const Report& report, const Surroundings&& surroundings) = delete;

    /// An object with the members that the terms of causes refer to: distribution, image, inside,
    /// engine.
    [[nodiscard]] Value facts() const;

    /// True if a fix is possible in this environment. A driver that the fix installs or updates
    /// must support the GPU, and every other GPU that the current driver serves. A module that the
    /// fix loads must not be loaded already.
    [[nodiscard]] bool is_possible(const Remedy& remedy,
                                   const Value& evidence,
                                   std::string_view gpu = {}) const;
    /// The advice that replaces an impossible fix; nullopt if there is no advice.
    [[nodiscard]] std::optional<std::string> instead_of(const Remedy& remedy,
                                                        std::string_view gpu) const;

    /// Fills the placeholders in a sentence (docs/internals/extending.md). Unknown values are left
    /// out or shown as "?".
    [[nodiscard]] std::string sentence(std::string_view pattern, const Value& evidence) const;
    /// Fills the placeholders in the text of a fix. The text may contain commands, so each value is
    /// quoted as a word of a command.
    [[nodiscard]] std::string fix(std::string_view pattern,
                                  const Value& evidence,
                                  std::string_view gpu = {}) const;
    /// A shell command; nullopt if one of its values is unknown.
    [[nodiscard]] std::optional<std::string> command(std::string_view pattern,
                                                     const Value& evidence,
                                                     std::string_view gpu = {}) const;
    /// The command, without "sudo" if the caller is root.
    [[nodiscard]] std::string as_caller(std::string command) const;

private:
    /// True if this process runs in a container or sandbox.
    [[nodiscard]] bool is_inside() const { return host_.container || host_.sandbox; }
    /// True if the package can be installed only on the host, or only in Windows.
    [[nodiscard]] bool is_elsewhere(const knowledge::PackageRole& role) const;
    /// True if the package exists for this machine's processor.
    [[nodiscard]] bool is_made_for(const knowledge::PackageRole& role) const;
    /// The role of the packages that a cause names; for NVIDIA's driver, the role that suits the
    /// GPU. The result is nullopt if no role suits the GPU.
    [[nodiscard]] std::optional<std::string> suitable_role(const std::string& role,
                                                           std::string_view gpu) const;
    /// The names of the packages that have the role `role` on this machine's processor. Empty if
    /// the distribution has no such package; nullopt if it is unknown whether the distribution has
    /// such a package.
    [[nodiscard]] std::optional<std::string> package(const std::string& role) const;
    /// True if the packages for `role` have other names in other releases of the distribution, and
    /// this machine's release isn't known.
    [[nodiscard]] bool may_have_other_names(const std::string& role) const;
    /// Example names of the packages for `role`, from the nearest release that has these packages;
    /// "" if no release has them.
    [[nodiscard]] std::string example_names(const std::string& role) const;
    /// The command that installs the packages of a role on this machine; nullopt if there is no
    /// such command.
    [[nodiscard]] std::optional<std::string> install_command(const std::string& role) const;
    /// A phrase that asks the user to install the packages of a role. The phrase exists even if no
    /// command installs the packages.
    [[nodiscard]] std::string install_words(const std::string& role) const;
    /// The distribution's command `name`, with `object` filled in.
    [[nodiscard]] std::optional<std::string> own_command(const std::string& name,
                                                         std::string_view object) const;
    /// The instruction for passing a device into this kind of container or sandbox.
    [[nodiscard]] std::optional<std::string> engine(const std::string& name,
                                                    std::string_view object) const;
    /// The text from the distribution's row or, if that row has no text, from the row of a
    /// distribution on which this distribution is based.
    [[nodiscard]] const std::string* entry_of(
        std::map<std::string, std::string> knowledge::Distribution::*what,
        const std::string& key) const;
    /// The advice to use a newer driver: at least a minimum version, or a driver that supports a
    /// minimum version of CUDA.
    [[nodiscard]] std::string update_words(std::string_view gpu,
                                           const std::optional<std::string>& version,
                                           const std::optional<std::string>& cuda) const;
    /// False if a placeholder represents a fix that is impossible for the GPU.
    [[nodiscard]] bool is_possible(std::string_view placeholder,
                                   const Value& evidence,
                                   std::string_view gpu) const;
    /// True if a command in the text loads a kernel module that is loaded already.
    [[nodiscard]] bool loads_again(std::string_view text) const;
    /// The value of a placeholder: a member of the evidence, or a property of this environment.
    [[nodiscard]] std::optional<std::string> word(std::string_view placeholder,
                                                  const Value& evidence,
                                                  std::string_view gpu,
                                                  ValueForm form) const;

    const Host& host_;
    const Surroundings& surroundings_;
    DriverChoice drivers_;
    const knowledge::Distribution* row_ = nullptr;  // a row that is borrowed from Places::current()
    // Whether row_ describes another release of the distribution.
    bool is_other_release_ = false;
    const knowledge::Engine* engine_ = nullptr;  // a row that is borrowed from Places::current()
};

/// The object on which the terms of causes are evaluated. The members of the object are the roots
/// of paths (TermContext::roots): the report, with the results of the APIs and the name of the chip
/// added to each GPU; the place; and the environment of the caller.
Value examined(const Report& report, const Surroundings& surroundings, const Place& place);

}  // namespace gpuprobe::inline explain
