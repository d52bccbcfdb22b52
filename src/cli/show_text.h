// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/value.h"
#include "explain/doctor.h"
#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// A list of facts with labels, under a title.
class FactList {
public:
    explicit FactList(std::string title) : title_{std::move(title)} {}

    /// Adds a fact; control characters are replaced. If `label` is empty, the text continues the
    /// fact above.
    void add(std::string_view label, std::string_view text, Tone tone = Tone::Plain);
    /// Adds a fact unless it is unknown or empty.
    void add_known(std::string_view label, const std::optional<std::string>& text);
    /// Adds each member of an object except the members in `but`; members of nested objects are
    /// called "a.b", and null is omitted. The table of facts defines which members are sizes and
    /// frequencies.
    void add_members(const Value& object, const std::vector<std::string>& but = {});
    [[nodiscard]] bool empty() const { return facts_.empty(); }
    /// The list as text, with labels padded to `label_width` or to the widest label; "" if there
    /// are no facts.
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

/// All known facts about a GPU, in groups. `now` is the current time, for computing the age of
/// free memory. `found` are the doctor's findings for the report. This function is pure.
std::string show_text(const Gpu& gpu,
                      const Report& report,
                      const std::vector<Finding>& found,
                      WallTime now,
                      const Screen& screen);
/// All known facts about an accelerator. This function is pure.
std::string show_text(const Accelerator& accelerator,
                      const std::vector<Finding>& found,
                      const Screen& screen);

/// The power as text, such as "350.5 of 600 W", or "of 600 W" if only the limit is known; nullopt
/// if both are unknown.
std::optional<std::string> power_words(const AcceleratorPower& power);
/// The temperature as text, such as "45.5 °C", without the degree sign if the screen cannot show
/// this sign; nullopt if the temperature is unknown.
std::optional<std::string> temperature_words(const AcceleratorPower& power, const Screen& screen);

}  // namespace gpuprobe::inline cli
