// SPDX-License-Identifier: Apache-2.0
#include "policy/known_bad.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/chips.h"
#include "policy/fact.h"
#include "report/api_table.h"
#include "report/outcome.h"

namespace gpuprobe::inline policy {
namespace {

/// The value of a known-bad pair, as shown to users; nullopt for a list, or if there are several
/// values.
std::optional<std::string> shown_word(const std::vector<Evidence>& proof) {
    if (proof.size() != 1)
        return std::nullopt;
    const auto word = word_of(*proof.front().value);
    return word.empty() ? std::nullopt : std::optional{word};
}

}  // namespace

/// Whether two targets may belong to the same generation, such as "gfx1200" and "gfx1201".
bool is_same_generation(const std::optional<std::string>& left,
                        const std::optional<std::string>& right) {
    constexpr std::size_t kMinorAndStepping = 2;
    return !left || !right || left->size() != right->size() || left->size() < kMinorAndStepping
               ? left == right || !left || !right
               : left->substr(0, left->size() - kMinorAndStepping) ==
                     right->substr(0, right->size() - kMinorAndStepping);
}

std::string chip_name(const Gpu& gpu) {
    if (!gpu.pci || !gpu.pci->vendor_id || !gpu.pci->device_id)
        return {};
    const auto* chip =
        knowledge::Chips::current().find(*gpu.pci->vendor_id, *gpu.pci->device_id, "");
    return chip ? chip->chip.value_or("") : "";
}

void add_derived_members(const Gpu& gpu, const Report& report, Value& value) {
    if (const auto chip = chip_name(gpu); !chip.empty())
        value["chip"] = Value{chip};
    value["alike"] = std::ranges::count_if(report.gpus, [&](const Gpu& other) {
        return other.vendor == gpu.vendor && other.kind == gpu.kind &&
               other.driver.name == gpu.driver.name &&
               is_same_generation(other.architecture.gfx_target, gpu.architecture.gfx_target);
    });
}

const Value& KnownBad::value_of(const Gpu& gpu) {
    auto [found, is_new] = values_.try_emplace(&gpu);
    if (is_new) {
        found->second = to_value(gpu);
        add_derived_members(gpu, report_, found->second);
    }
    return found->second;
}

const Value& KnownBad::roots() {
    if (roots_.is_null()) {
        roots_["report"]["runtimes"] = to_value(report_.runtimes);
        roots_["host"] = to_value(report_.host);
    }
    return roots_;
}

bool KnownBad::holds_on(const Cause& cause, const Gpu& gpu, bool with_paths) {
    const Facts facts{{.report = report_, .gpu = &gpu}};
    const TermContext context{.roots = with_paths ? &roots() : nullptr,
                              .device = with_paths ? &value_of(gpu) : nullptr,
                              .facts = &facts};
    const auto is_true = [&](const Condition& condition) {
        return has_paths(condition) == with_paths && holds(condition, context) == Truth::True;
    };
    return std::ranges::all_of(cause.when,
                               [&](const Condition& condition) {
                                   return has_paths(condition) != with_paths || is_true(condition);
                               }) &&
           std::ranges::none_of(cause.unless, is_true);
}

std::vector<Reason> KnownBad::on(const Gpu& gpu, std::string_view backend) {
    std::vector<Reason> found;
    const auto known_as = gpu_backend_of(backend);
    for (const auto& cause : Causes::known_bad().all()) {
        // Most pairs concern other GPUs, so their conditions about facts fail before a record is
        // needed.
        if (std::ranges::find(cause.backends, known_as) == cause.backends.end() ||
            !holds_on(cause, gpu, false) || !holds_on(cause, gpu, true))
            continue;
        const TermContext context{.roots = &roots(), .device = &value_of(gpu)};
        const auto lookup = [&](std::string_view name) {
            const auto path = cause.show.find(std::string{name});
            return path == cause.show.end() ? std::nullopt
                                            : shown_word(met_by(path->second, context));
        };
        found.push_back(
            because("known-bad", {{"cause", cause.id},
                                  {"backends", to_value(cause.backends)},
                                  {"fault", cause.fault ? to_value(*cause.fault) : Value{}},
                                  {"text", filled_sentence(cause.text.value_or(""), lookup)}}));
    }
    return found;
}

bool is_unsound(const std::vector<Reason>& reasons) {
    return std::ranges::any_of(reasons, [](const Reason& reason) {
        const auto* fault = reason.detail.at("fault").as_string();
        const auto known = fault ? enum_from<Fault>(*fault) : std::nullopt;
        const bool is_known_unsound = known == Fault::Crashes || known == Fault::WrongResults;
        return (reason.is("known-bad") && is_known_unsound) ||
               (reason.is("not-computing") && reason.detail.at("result") == Value{"crashed"});
    });
}

}  // namespace gpuprobe::inline policy
