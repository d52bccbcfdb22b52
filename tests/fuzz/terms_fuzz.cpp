// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "base/units.h"
#include "base/value.h"
#include "base/version.h"
#include "fuzz/input.h"
#include "fuzz/known_report.h"
#include "policy/causes.h"
#include "policy/fact.h"
#include "policy/profile.h"
#include "policy/term.h"

namespace {

using namespace gpuprobe;

const Value& roots() {
    static const Value value{Value::Object{{"report", to_value(support::known_report())}}};
    return value;
}

void check_predicate(std::string_view text, const Facts& facts) {
    const auto predicate = parse_predicate(text);
    if (static_cast<bool>(predicate) == predicate_problem(text).has_value())
        std::abort();
    if (!predicate)
        return;
    const auto tested = test_predicate(*predicate, facts);
    if (tested.truth != test_all({*predicate}, facts))
        std::abort();
    (void)is_about_host(*predicate);
}

void check_condition(const Value& text, const Facts& facts) {
    const Value evidence{Value::Object{{"api", "cuda"}, {"node", "/dev/dri/card0"}}};
    const TermContext context{
        .roots = &roots(), .device = nullptr, .facts = &facts, .evidence = &evidence};
    Condition condition;
    if (read_value(text, condition).empty())
        (void)holds(condition, context);
    Path path;
    if (read_value(text, path).empty())
        for (const auto& met : met_by(path, context))
            (void)word_of(*met.value);
}

}  // namespace

/// Reads text that users and data files contain: predicates, terms with paths of a report,
/// templates, sizes and versions. Evaluates predicates and terms on a laptop with two GPUs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{support::text_of_input(data, size)};
    const auto& report = support::known_report();
    const Facts facts{{.report = report, .gpu = report.gpus.data()}};
    check_predicate(text, facts);
    check_condition(Value{text}, facts);
    const auto all = [](std::string_view) { return true; };
    const auto filled =
        filled_template(text, [](std::string_view name) { return std::string{name}; });
    if (!template_problem(text, all) && !filled)
        std::abort();
    (void)size_from_text(text);
    (void)leading_version(text);
    return 0;
}
