// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "explain/doctor.h"
#include "explain/screen.h"
#include "report/report.h"

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

/// Everything that the report says about one GPU, in groups. Unknown facts are left out. `now` is
/// what the age of free memory counts to. `found` are the doctor's of the report. Pure.
std::string show_text(const Gpu& gpu,
                      const Report& report,
                      const std::vector<Finding>& found,
                      WallTime now,
                      const Screen& screen);
/// The same of an accelerator.
std::string show_text(const Accelerator& accelerator,
                      const std::vector<Finding>& found,
                      const Screen& screen);

/// "350.5 of 600 W", "of 600 W" where only the limit is known; nullopt where nothing is.
std::optional<std::string> power_words(const AcceleratorPower& power);
/// "45.5 °C", in whatever the screen can show.
std::optional<std::string> temperature_words(const AcceleratorPower& power, const Screen& screen);

}  // namespace gpuprobe::inline cli
