// SPDX-License-Identifier: Apache-2.0
#include "explain/place.h"

#include <algorithm>

#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "policy/causes.h"

namespace gpuprobe::inline explain {
namespace {

using knowledge::Distribution;
using knowledge::Places;

/// If the distribution is unknown, package names of Debian are shown as an example.
constexpr std::string_view kExample = "debian";
/// The placeholder in package names for the processor's name in the distribution.
constexpr std::string_view kMachine = "{machine}";
constexpr const char* kUsualMachine = "x86_64";

/// Replaces each `mark` in the text with `object`.
std::string replaced(std::string text, std::string_view mark, std::string_view object) {
    for (auto at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + object.size()))
        text.replace(at, mark.size(), object);
    return text;
}

/// Replaces each "{}" in the text with `object`.
std::string with(std::string text, std::string_view object) {
    return replaced(std::move(text), "{}", object);
}

std::string version_of(const Host& host) {
    return host.os_release ? host.os_release->version_id.value_or("") : "";
}

/// The package names with the placeholder for the host's processor filled in; nullopt if the
/// distribution has no name for the processor.
std::optional<std::string> with_machine(const std::string& names,
                                        const Distribution& row,
                                        const Host& host) {
    if (names.find(kMachine) == std::string::npos)
        return names;
    // Distributions name processors differently; for example, "amd64" in Debian is "x86_64" in
    // Fedora.
    const auto* machine = Places::current().entry_of(
        row, &Distribution::machines, host.arch.value_or(kUsualMachine), version_of(host));
    return machine ? std::optional{replaced(names, kMachine, *machine)} : std::nullopt;
}

/// The names of the packages in a distribution's row for the host's processor (Place::package).
std::optional<std::string> package_of(const Distribution& row,
                                      const std::string& role,
                                      const Host& host) {
    const auto* names =
        Places::current().entry_of(row, &Distribution::packages, role, version_of(host));
    return names ? with_machine(*names, row, host) : std::nullopt;
}

/// True for a kernel parameter that needs no quotes, even if it contains "!", as in
/// "xe.force_probe=!e20b". Some tables put such a parameter in single quotes.
bool is_kernel_word(std::string text) {
    std::erase(text, '!');
    return command_word(text) == text;
}

/// Finds the distribution's row by L4T, then by the kernel of an appliance, then by ID in
/// os-release, then by ID_LIKE. In a container, the kernel is ignored, because it is the host's
/// kernel.
knowledge::PlaceMatch row_of(const Host& host) {
    const auto& places = Places::current();
    if (host.l4t)
        return {.row = places.find("jetson", *host.l4t, "")};
    const auto* appliance =
        host.kernel && !host.container && !host.sandbox ? places.appliance(*host.kernel) : nullptr;
    if (appliance || !host.os_release)
        return {.row = appliance};
    const auto& release = *host.os_release;
    const auto id = release.id.value_or("");
    const auto version = version_of(host);
    const auto variant = release.variant_id.value_or("");
    const knowledge::PlaceQuery query{
        .id = id, .version = version, .variant = variant, .codenames = release.codenames};
    const auto own = places.find(query);
    return own.row ? own : places.find_kin(query, release.id_like);
}

/// The word that follows `name` at the beginning of a text, up to a character that ends a command.
std::string_view word_after(std::string_view text, std::string_view name) {
    text.remove_prefix(std::min(name.size(), text.size()));
    return text.substr(0, text.find_first_of(" ,;)"));
}

/// The first known member among the members in "driver-update:need|want", which are "need" and
/// "want".
std::optional<std::string> first_known(const Value& evidence, std::string_view members) {
    for (const auto name : split(members, '|'))
        if (const auto word = word_of(evidence.at(name)); !word.empty())
            return command_word(word);
    return std::nullopt;
}

constexpr std::string_view kInstall = "install:";
constexpr std::string_view kUpdate = "driver-update";
constexpr std::string_view kForCuda = "driver-for-cuda";
constexpr std::string_view kNvidiaDriver = "nvidia-driver";

}  // namespace

Place::Place(const Report& report, const Surroundings& surroundings)
    : host_{report.host}, surroundings_{surroundings}, drivers_{report} {
    const auto& places = Places::current();
    const auto match = row_of(host_);
    row_ = match.row;
    is_other_release_ = match.is_other_release;
    const auto kernel = host_.kernel.value_or("");
    // If a sandbox runs inside a container, the sandbox determines the advice.
    if (host_.sandbox)
        engine_ = places.engine(*host_.sandbox, kernel);
    if (!engine_ && host_.container)
        engine_ = places.engine(*host_.container, kernel);
    if (!engine_ && host_.container)
        engine_ = places.engine("container-other", kernel);
}

Value Place::facts() const {
    Value facts{Value::Object{}};
    facts["distribution"] = row_ ? Value{row_->id} : Value{};
    facts["image"] = row_ && row_->image;
    facts["inside"] = is_inside();
    facts["engine"] = engine_ ? Value{engine_->id} : Value{};
    return facts;
}

bool Place::is_elsewhere(const knowledge::PackageRole& role) const {
    return role.is_for_host && (is_inside() || host_.wsl);
}

bool Place::is_made_for(const knowledge::PackageRole& role) const {
    return !role.machine || host_.arch.value_or(*role.machine) == *role.machine;
}

const std::string* Place::entry_of(std::map<std::string, std::string> Distribution::*what,
                                   const std::string& key) const {
    return row_ ? Places::current().entry_of(*row_, what, key, version_of(host_)) : nullptr;
}

std::optional<std::string> Place::package(const std::string& role) const {
    return row_ ? package_of(*row_, role, host_) : std::nullopt;
}

std::optional<std::string> Place::suitable_role(const std::string& role,
                                                std::string_view gpu) const {
    if (role == kNvidiaDriver)
        return drivers_.role_for(gpu);
    const auto* known = Places::current().role(role);
    const bool is_possible = !known || !known->driver || drivers_.may_install(*known, gpu);
    return is_possible ? std::optional{role} : std::nullopt;
}

bool Place::may_have_other_names(const std::string& role) const {
    // Distributions add and remove packages for branches of a driver.
    const auto& places = Places::current();
    const auto* known = places.role(role);
    const bool is_of_branch =
        known && known->branch && *known->branch != "newest" && row_ && places.has_releases(*row_);
    return is_other_release_ &&
           (is_of_branch ||
            places.entries_of_releases(*row_, &Distribution::packages, role).size() > 1);
}

std::string Place::example_names(const std::string& role) const {
    // Package names are unlikely to be the same in an unknown distribution.
    const auto& places = Places::current();
    const auto* row = row_ ? row_ : places.find(kExample, "", "");
    for (const auto& names : places.entries_of_releases(*row, &Distribution::packages, role))
        if (!names.empty())
            return with_machine(names, *row, host_).value_or("");
    return {};
}

std::optional<std::string> Place::own_command(const std::string& name,
                                              std::string_view object) const {
    const auto* pattern = entry_of(&Distribution::commands, name);
    return pattern && !pattern->empty() ? std::optional{as_caller(with(*pattern, object))}
                                        : std::nullopt;
}

std::optional<std::string> Place::install_command(const std::string& role) const {
    const auto* known = Places::current().role(role);
    const auto packages = package(role);
    if (!known || !packages || packages->empty() || is_elsewhere(*known) || !is_made_for(*known))
        return std::nullopt;
    // In an image and in most sandboxes, packages cannot be installed at run time.
    if (may_have_other_names(role) || row_->image || (host_.sandbox && *host_.sandbox != "toolbox"))
        return std::nullopt;
    // Some roles have a special command for their installation.
    const auto own = "install:" + role;
    const bool has_own = entry_of(&Distribution::commands, own);
    return own_command(has_own ? own : "install", *packages);
}

std::string Place::install_words(const std::string& role) const {
    const auto* known = Places::current().role(role);
    const auto name = known ? known->name : role;
    // Try the most specific advice first.
    if (known && !is_made_for(*known))
        return phrase("{package} is available only for {machine}",
                      {{"package", name}, {"machine", *known->machine}});
    if (known && is_elsewhere(*known))
        return phrase(host_.wsl ? "in Windows, install or update {package}"
                                : "on the host, install {package}",
                      {{"package", name}});
    if (host_.sandbox && *host_.sandbox != "toolbox")
        if (const auto own = engine("install", name))
            return *own;
    const auto packages = package(role);
    const auto* remarks = entry_of(&Distribution::notes, role);
    const auto note = remarks && !remarks->empty() ? std::optional{*remarks} : std::nullopt;
    const auto noted = [&note](std::string words) {
        return phrase("{words}[ ({note})]", {{"words", std::move(words)}, {"note", note}});
    };
    // On an image-based system, packages cannot be installed, so the distribution's row contains
    // advice instead.
    if (row_ && row_->image && !is_inside())
        return noted(with(*row_->image, packages && !packages->empty() ? *packages : name));
    if (const auto command = install_command(role))
        return noted(*command);
    // The distribution is known, but does not have the package.
    if (packages && !is_other_release_)
        return phrase("{distribution} has no package for {package}[: {note}]",
                      {{"distribution", row_->name}, {"package", name}, {"note", note}});
    // The distribution or its release isn't known.
    const auto example = example_names(role);
    const auto names = example.empty() ? std::nullopt : std::optional{example};
    return phrase(row_ ? "install {package}[, such as {names}| ({note})]"
                       : "install {package}[ (in Debian: {names})]",
                  {{"package", name}, {"names", names}, {"note", packages ? note : std::nullopt}});
}

std::optional<std::string> Place::engine(const std::string& name, std::string_view object) const {
    if (!engine_)
        return std::nullopt;
    const auto found = engine_->commands.find(name);
    return found == engine_->commands.end() ? std::nullopt
                                            : std::optional{with(found->second, object)};
}

std::string Place::update_words(std::string_view gpu,
                                const std::optional<std::string>& version,
                                const std::optional<std::string>& cuda) const {
    // A container contains the drivers of other vendors, except for the kernel drivers.
    const bool is_of_host = drivers_.is_about(gpu) || version || cuda;
    const std::string_view where = host_.wsl                   ? "in Windows, "
                                   : is_inside() && is_of_host ? "on the host, "
                                                               : "";
    if (drivers_.is_of_l4t(gpu))
        return phrase("{where}install a newer release of Jetson Linux (JetPack)",
                      {{"where", std::string{where}}});
    return phrase(
        "{where}update the GPU's driver[ to {version} or later][ to a version for CUDA {cuda} or "
        "later][, but not beyond branch {last}, the last one that supports this GPU]",
        {{"where", std::string{where}},
         {"version", version},
         {"cuda", cuda},
         {"last", drivers_.last_branch(gpu)}});
}

bool Place::is_possible(std::string_view placeholder,
                        const Value& evidence,
                        std::string_view gpu) const {
    const auto colon = std::min(placeholder.find(':') + 1, placeholder.size());
    const auto of = placeholder.substr(colon);
    if (placeholder.starts_with(kInstall))
        return suitable_role(std::string{of}, gpu).has_value();
    if (placeholder.starts_with(kUpdate))
        return drivers_.may_update_to(gpu, first_known(evidence, of).value_or(""));
    if (placeholder.starts_with(kForCuda))
        return drivers_.may_support_cuda(gpu, first_known(evidence, of).value_or(""));
    return true;
}

bool Place::loads_again(std::string_view text) const {
    constexpr std::string_view kLoad = "modprobe ";
    const auto& setup = host_.setup;
    if (!setup || !setup->loaded)
        return false;
    for (auto at = text.find(kLoad); at != std::string_view::npos; at = text.find(kLoad, at + 1)) {
        const auto module = word_after(text.substr(at), kLoad);
        // An earlier command in the text may remove the module.
        const auto before = text.substr(0, at);
        const bool is_removed = before.find("rmmod") != std::string_view::npos ||
                                before.find("modprobe -r") != std::string_view::npos;
        if (!is_removed && std::ranges::count(*setup->loaded, module) > 0)
            return true;
    }
    return false;
}

bool Place::is_possible(const Remedy& remedy, const Value& evidence, std::string_view gpu) const {
    auto patterns = remedy.run;
    patterns.insert(patterns.begin(), remedy.fix.value_or(""));
    std::string text;
    bool is_all_possible = true;
    for (const auto& pattern : patterns)
        text += filled_sentence(pattern,
                                [&](std::string_view placeholder) {
                                    is_all_possible =
                                        is_all_possible && is_possible(placeholder, evidence, gpu);
                                    return word(placeholder, evidence, gpu, ValueForm::CommandWord);
                                }) +
                "; ";
    return is_all_possible && !loads_again(text);
}

std::optional<std::string> Place::instead_of(const Remedy& remedy, std::string_view gpu) const {
    const auto installs = [](const std::string& pattern) {
        return pattern.find("{install:nvidia-driver}") != std::string::npos;
    };
    if (!installs(remedy.fix.value_or("")) && std::ranges::none_of(remedy.run, installs))
        return std::nullopt;
    return drivers_.without_role(gpu);
}

std::optional<std::string> Place::word(std::string_view placeholder,
                                       const Value& evidence,
                                       std::string_view gpu,
                                       ValueForm form) const {
    const auto colon = std::min(placeholder.find(':'), placeholder.size());
    const std::string name{placeholder.substr(0, colon)};
    // A placeholder is "name" or "name:argument".
    const std::string of{placeholder.substr(std::min(colon + 1, placeholder.size()))};
    // In the tables, an object is always a word of a command, even in sentences.
    const auto object = [&] { return detail_word(evidence, of, {}, ValueForm::CommandWord); };
    if (name == "install" || name == "package") {
        const auto role = suitable_role(of, gpu);
        if (name == "install" || !role)
            return role ? std::optional{install_words(*role)} : std::nullopt;
        // If no command installs the package, the phrase for "install" contains the name of the
        // package.
        const auto* known = Places::current().role(*role);
        return known && install_command(*role) ? std::optional{known->name} : std::nullopt;
    }
    if (name == kUpdate)
        return update_words(gpu, first_known(evidence, of), std::nullopt);
    if (name == kForCuda)
        return update_words(gpu, std::nullopt, first_known(evidence, of));
    if (name == "engine")
        return engine(
            of, detail_word(evidence, "node", {}, ValueForm::CommandWord).value_or("/dev/dri"));
    if (name == "place")
        return detail_word(facts(), of, {}, form);
    if (name == "command")
        return own_command(of, "");
    // The placeholder's argument is a member of the evidence that contains the kernel parameter, or
    // the kernel parameter itself.
    const bool is_for_kernel = name == "kernel-add" || name == "kernel-remove";
    if (is_for_kernel && evidence.at(of).is_null())
        return own_command(name, of);
    if (is_for_kernel) {
        const auto parameter = word_of(evidence.at(of));
        return is_kernel_word(parameter) ? own_command(name, parameter) : std::nullopt;
    }
    // "owner:node" is replaced by the command that prints the package to which a file belongs.
    if (name == "owner")
        return object() ? own_command(name, *object()) : std::nullopt;
    return detail_word(evidence, placeholder, {}, form);
}

std::string Place::sentence(std::string_view pattern, const Value& evidence) const {
    return filled_sentence(pattern, [&](std::string_view placeholder) {
        return word(placeholder, evidence, "", ValueForm::Prose);
    });
}

std::string Place::fix(std::string_view pattern,
                       const Value& evidence,
                       std::string_view gpu) const {
    return filled_sentence(pattern, [&](std::string_view placeholder) {
        return word(placeholder, evidence, gpu, ValueForm::CommandWord);
    });
}

std::optional<std::string> Place::command(std::string_view pattern,
                                          const Value& evidence,
                                          std::string_view gpu) const {
    // A command with an unknown value must not be run.
    bool is_whole = true;
    auto text = filled_sentence(pattern, [&](std::string_view placeholder) {
        std::optional<std::string> found;
        if (!placeholder.starts_with(kInstall))
            found = word(placeholder, evidence, gpu, ValueForm::CommandWord);
        else if (const auto role =
                     suitable_role(std::string{placeholder.substr(kInstall.size())}, gpu))
            found = install_command(*role);
        is_whole = is_whole && found;
        return found;
    });
    return is_whole ? std::optional{as_caller(std::move(text))} : std::nullopt;
}

std::string Place::as_caller(std::string command) const {
    constexpr std::string_view kSudo = "sudo ";
    if (surroundings_.is_root != true)
        return command;
    for (auto at = command.find(kSudo); at != std::string::npos; at = command.find(kSudo, at))
        command.erase(at, kSudo.size());
    return command;
}

}  // namespace gpuprobe::inline explain
