// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"
#include "explain/doctor.h"
#include "knowledge/places.h"

namespace gpuprobe::inline explain {

/// Where a report was made, as far as fixes differ by it: distribution, container, sandbox.
class Place {
public:
    /// Both are borrowed for as long as this lives.
    Place(const Report& report, const Surroundings& surroundings);
    Place(const Report& report, const Surroundings&& surroundings) = delete;

    /// For terms: distribution, image, inside, engine.
    [[nodiscard]] Value facts() const;

    /// A sentence with its placeholders filled (docs/extending.md). Parts that are not known are
    /// left out or shown as "?".
    [[nodiscard]] std::string sentence(std::string_view pattern, const Value& evidence) const;
    /// The same for the words of a fix, which may have commands in them: each value is a word that
    /// a shell takes as it is.
    [[nodiscard]] std::string fix(std::string_view pattern, const Value& evidence) const;
    /// A command for a shell; nullopt if one of its values is not known here.
    [[nodiscard]] std::optional<std::string> command(std::string_view pattern,
                                                     const Value& evidence) const;
    /// A command without "sudo" where the caller is root.
    [[nodiscard]] std::string as_caller(std::string command) const;

private:
    [[nodiscard]] bool is_inside() const { return host_.container || host_.sandbox; }
    /// Whether only the host, or Windows, can install it.
    [[nodiscard]] bool is_elsewhere(const knowledge::PackageRole& role) const;
    /// Whether it exists for this machine's processor.
    [[nodiscard]] bool is_made_for(const knowledge::PackageRole& role) const;
    /// Names of its packages for this machine's processor; empty where there are none, and nullopt
    /// where that is not known.
    [[nodiscard]] std::optional<std::string> package(const std::string& role) const;
    /// How packages with that role are installed here: a command; nullopt where there is none.
    [[nodiscard]] std::optional<std::string> install_command(const std::string& role) const;
    /// The same in words, also where no command does it.
    [[nodiscard]] std::string install_words(const std::string& role) const;
    /// The distribution's command of that name for an object.
    [[nodiscard]] std::optional<std::string> own_command(const std::string& name,
                                                         std::string_view object) const;
    /// How this kind of container, or sandbox, is given a device.
    [[nodiscard]] std::optional<std::string> engine(const std::string& name,
                                                    std::string_view object) const;
    /// What the row of this distribution tells, or one that it is like.
    [[nodiscard]] const std::string* told(
        std::map<std::string, std::string> knowledge::Distribution::*what,
        const std::string& key) const;
    /// The value of a placeholder: a member of the evidence, or something of this place.
    [[nodiscard]] std::optional<std::string> word(std::string_view placeholder,
                                                  const Value& evidence,
                                                  ValueForm form) const;

    const Host& host_;
    const Surroundings& surroundings_;
    const knowledge::Distribution* row_ = nullptr;  // borrowed from Places::current()
    const knowledge::Engine* engine_ = nullptr;     // likewise
};

/// What the terms of causes look at, by the name that their paths begin with (Scene::roots): the
/// report, with what each GPU's APIs said and its chip's name beside the GPU; the place; and what
/// surrounds whoever asks.
Value examined(const Report& report, const Surroundings& surroundings, const Place& place);

}  // namespace gpuprobe::inline explain
