// SPDX-License-Identifier: Apache-2.0
#include "policy/fact.h"

#include <algorithm>

#include "base/text.h"
#include "policy/assumptions.h"

namespace gpuprobe::inline policy {
namespace {

/// What the report contains about the API's backend on a GPU; null if there is no GPU or no such
/// backend.
const BackendView* backend_of(const Gpu* gpu, Api api) {
    if (!gpu)
        return nullptr;
    const auto found = gpu->backends.find(std::string{info_of(api).backend});
    return found == gpu->backends.end() ? nullptr : &found->second;
}

/// The function shown() returns a fact's value as words in lower case; the result is empty if the
/// fact has no value.
std::vector<std::string> shown(const Fact<std::string>& fact) {
    return fact.value ? std::vector{*fact.value} : std::vector<std::string>{};
}
std::vector<std::string> shown(const Fact<Version>& fact) {
    if (!fact.value)
        return {};
    // Keep the version as the report spells it, such as "550.54.14", instead of the parsed number.
    return {fact.text.empty() ? text_of(*fact.value) : lower_case(fact.text)};
}
std::vector<std::string> shown(const Fact<Bytes>& fact) {
    return fact.value ? std::vector{std::to_string(fact.value->count)} : std::vector<std::string>{};
}
std::vector<std::string> shown(const Fact<bool>& fact) {
    return fact.value ? std::vector<std::string>{*fact.value ? "true" : "false"}
                      : std::vector<std::string>{};
}
std::vector<std::string> shown(const Fact<WordSet>& fact) {
    return fact.value ? fact.value->yes : std::vector<std::string>{};
}

}  // namespace

WordSet::WordSet(std::vector<std::string> words) : yes{std::move(words)} {
    std::ranges::sort(yes);
}

// The lists are sorted, so both look-ups can use binary search.
Truth WordSet::holds(std::string_view word) const {
    if (std::ranges::binary_search(yes, word, std::less<>{}))
        return Truth::True;
    const bool is_denied = std::ranges::binary_search(no, word, std::less<>{});
    return is_denied || is_complete ? Truth::False : Truth::Unknown;
}

const Rules& Facts::rules() const {
    return subject_.rules ? *subject_.rules : Rules::current();
}

const AnyFact& Facts::at(FactId id) const {
    // Reading a fact may require a search in the report, so keep the result.
    auto& fact = known_[static_cast<std::size_t>(id)];
    if (!fact) {
        fact = row_of(id).read(*this);
        const auto& row = row_of(id);
        if (!report().assumed.empty() && (row.is_callers || !is_probed(*fact)))
            if (auto assumed = assumed_fact(report(), row))
                fact = std::move(*assumed);
    }
    return *fact;
}

std::optional<bool> Facts::usable(Api api) const {
    const auto* view = backend_of(subject_.gpu, api);
    return view ? view->usable : std::nullopt;
}

bool Facts::verified(Api api) const {
    const auto* view = backend_of(subject_.gpu, api);
    return view && view->verified;
}

std::vector<std::string> words_of(const AnyFact& fact) {
    return std::visit([](const auto& known) { return shown(known); }, fact);
}

bool is_probed(const AnyFact& fact) {
    return std::visit([](const auto& known) { return known.is_probed; }, fact);
}

bool is_like(const Facts& left, const Facts& right) {
    // Both subjects are GPUs of the same machine without a backend, so only facts about GPUs can
    // differ.
    const auto agree = [&](const FactRow& row) {
        return row.scope != FactScope::Gpu || left.at(row.id) == right.at(row.id);
    };
    // Usability cannot be read with the table's row, so compare the usability of each API.
    const auto works_alike = [&](const ApiInfo* api) {
        return left.usable(api->id) == right.usable(api->id);
    };
    return std::ranges::all_of(computing_apis(), works_alike) &&
           std::ranges::all_of(fact_rows(), agree);
}

MachineFacts machine_facts(const Report& report, const Rules& rules) {
    MachineFacts machine{.host = Facts{{.report = report, .rules = &rules}}};
    for (const auto& gpu : report.gpus) {
        // Display-only adapters can't run anything, so they don't count toward the limit.
        if (gpu.kind == GpuKind::DisplayOnly)
            continue;
        if (machine.gpus.size() == kMaxVariantGpus)
            ++machine.left_out;
        else
            machine.gpus.push_back(Facts{{.report = report, .gpu = &gpu, .rules = &rules}});
    }
    return machine;
}

}  // namespace gpuprobe::inline policy
