// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {

/// Labelled facts under a title.
class FactList {
public:
    explicit FactList(std::string title) : title_{std::move(title)} {}

    /// Control characters are replaced. A label that is "" continues the one above.
    void add(std::string_view label, std::string_view text, Tone tone = Tone::Plain);
    /// Adds nothing for an unknown fact.
    void add_known(std::string_view label, const std::optional<std::string>& text);
    /// Each member of an object on its own; "a.b" for nested ones; null ones are left out. Sizes
    /// and frequencies are shown as what the table of facts says they are.
    void add_members(const Value& object, const std::vector<std::string>& but = {});
    [[nodiscard]] bool empty() const { return facts_.empty(); }
    /// "" without facts. Labels are padded to `label_width`, or to the widest.
    [[nodiscard]] std::string text(const Screen& screen, std::size_t label_width = 0) const;
    [[nodiscard]] std::size_t label_width() const;

private:
    struct Fact {
        std::string label = {};
        std::string text = {};
        Tone tone = Tone::Plain;
    };
    void add_member(const std::string& key, const Value& value);

    std::string title_ = {};
    std::vector<Fact> facts_ = {};
};

}  // namespace gpuprobe::inline cli
