// SPDX-License-Identifier: Apache-2.0
#include "explain/place.h"

#include <algorithm>

#include "explain/explain.h"
#include "explain/phrase.h"
#include "policy/text_template.h"

namespace gpuprobe::inline explain {
namespace {

using knowledge::Distribution;
using knowledge::Places;

/// For an unknown distribution, this one's packages are named as an example.
constexpr std::string_view kExample = "debian";
/// The placeholder in packages' names for the distribution's name of the processor.
constexpr std::string_view kMachine = "{machine}";
constexpr const char* kUsualMachine = "x86_64";

/// The text with each `mark` replaced by `object`.
std::string replaced(std::string text, std::string_view mark, std::string_view object) {
    for (auto at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + object.size()))
        text.replace(at, mark.size(), object);
    return text;
}

/// The text with each "{}" replaced by `object`.
std::string with(std::string text, std::string_view object) {
    return replaced(std::move(text), "{}", object);
}

std::string version_of(const Host& host) {
    return host.os_release ? host.os_release->version_id.value_or("") : "";
}

/// The names of the packages in a distribution's row for the host's processor (Place::package).
std::optional<std::string> package_of(const Distribution& row,
                                      const std::string& role,
                                      const Host& host) {
    const auto& places = Places::current();
    const auto version = version_of(host);
    const auto* names = places.entry_of(row, &Distribution::packages, role, version);
    if (!names || names->find(kMachine) == std::string::npos)
        return names ? std::optional{*names} : std::nullopt;
    // Distributions name processors differently: "amd64" in Debian, "x86_64" in Fedora.
    const auto* machine =
        places.entry_of(row, &Distribution::machines, host.arch.value_or(kUsualMachine), version);
    return machine ? std::optional{replaced(*names, kMachine, *machine)} : std::nullopt;
}

/// True for a kernel parameter that needs no quotes, even if it contains "!":
/// "xe.force_probe=!e20b". Some tables put it in single quotes.
bool is_kernel_word(std::string text) {
    std::erase(text, '!');
    return command_word(text) == text;
}

/// The distribution's row: L4T first, then the ID of os-release, then each ID_LIKE.
const Distribution* row_of(const Host& host) {
    const auto& places = Places::current();
    if (host.l4t)
        return places.find("jetson", *host.l4t, "");
    if (!host.os_release)
        return nullptr;
    const auto& release = *host.os_release;
    const auto version = release.version_id.value_or("");
    const auto variant = release.variant_id.value_or("");
    if (release.id)
        if (const auto* own = places.find(*release.id, version, variant))
            return own;
    for (const auto& like : release.id_like)
        if (const auto* kin = places.find(like, "", variant))
            return kin;
    return nullptr;
}

}  // namespace

Place::Place(const Report& report, const Surroundings& surroundings)
    : host_{report.host}, surroundings_{surroundings}, row_{row_of(report.host)} {
    const auto& places = Places::current();
    const auto kernel = host_.kernel.value_or("");
    // A sandbox has precedence over the container that it may be in.
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
    // An image and most sandboxes can't install packages while they run.
    if (row_->image || (host_.sandbox && *host_.sandbox != "toolbox"))
        return std::nullopt;
    // Some roles have a special command.
    const auto own = "install:" + role;
    const bool has_own = entry_of(&Distribution::commands, own);
    return own_command(has_own ? own : "install", *packages);
}

std::string Place::install_words(const std::string& role) const {
    const auto& places = Places::current();
    const auto* known = places.role(role);
    const auto name = known ? known->name : role;
    // From the most to the least specific advice.
    if (known && !is_made_for(*known))
        return phrase("{package} is made only for {machine}",
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
    // Image-based system: the row has the advice, because packages can't be installed.
    if (row_ && row_->image && !is_inside())
        return noted(with(*row_->image, packages && !packages->empty() ? *packages : name));
    if (const auto command = install_command(role))
        return noted(*command);
    if (packages)
        // The distribution is known, but does not have the package.
        return phrase("{distribution} has no package of {package}[: {note}]",
                      {{"distribution", row_->name}, {"package", name}, {"note", note}});
    // The last resort: no row for this distribution.
    const auto* example = row_ ? nullptr : places.find(kExample, "", "");
    auto names = example ? package_of(*example, role, {.arch = host_.arch}) : std::nullopt;
    if (names && names->empty())
        names.reset();
    return phrase("install {package}[ (in Debian: {names})]",
                  {{"package", name}, {"names", names}});
}

std::optional<std::string> Place::engine(const std::string& name, std::string_view object) const {
    if (!engine_)
        return std::nullopt;
    const auto found = engine_->commands.find(name);
    return found == engine_->commands.end() ? std::nullopt
                                            : std::optional{with(found->second, object)};
}

std::optional<std::string> Place::word(std::string_view placeholder,
                                       const Value& evidence,
                                       ValueForm form) const {
    const auto colon = std::min(placeholder.find(':'), placeholder.size());
    const std::string name{placeholder.substr(0, colon)};
    // A placeholder is "name" or "name:argument".
    const std::string of{placeholder.substr(std::min(colon + 1, placeholder.size()))};
    // The tables use the object as a word of a command, even in sentences.
    const auto object = [&] { return detail_word(evidence, of, {}, ValueForm::CommandWord); };
    if (name == "install")
        return install_words(of);
    if (name == "engine")
        return engine(
            of, detail_word(evidence, "node", {}, ValueForm::CommandWord).value_or("/dev/dri"));
    if (name == "place")
        return detail_word(facts(), of, {}, form);
    if (name == "command")
        return own_command(of, "");
    // The argument is a member of the evidence with the parameter, or the parameter itself.
    const bool is_for_kernel = name == "kernel-add" || name == "kernel-remove";
    if (is_for_kernel && evidence.at(of).is_null())
        return own_command(name, of);
    if (is_for_kernel) {
        const auto parameter = word_of(evidence.at(of));
        return is_kernel_word(parameter) ? own_command(name, parameter) : std::nullopt;
    }
    // "owner:node": the command that prints the package of a file.
    if (name == "owner")
        return object() ? own_command(name, *object()) : std::nullopt;
    return detail_word(evidence, placeholder, {}, form);
}

std::string Place::sentence(std::string_view pattern, const Value& evidence) const {
    return filled_sentence(pattern, [&](std::string_view placeholder) {
        return word(placeholder, evidence, ValueForm::Prose);
    });
}

std::string Place::fix(std::string_view pattern, const Value& evidence) const {
    return filled_sentence(pattern, [&](std::string_view placeholder) {
        return word(placeholder, evidence, ValueForm::CommandWord);
    });
}

std::optional<std::string> Place::command(std::string_view pattern, const Value& evidence) const {
    constexpr std::string_view kInstall = "install:";
    // A command with an unknown value must not be run.
    bool is_whole = true;
    auto text = filled_sentence(pattern, [&](std::string_view placeholder) {
        auto found = placeholder.starts_with(kInstall)
                         ? install_command(std::string{placeholder.substr(kInstall.size())})
                         : word(placeholder, evidence, ValueForm::CommandWord);
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
