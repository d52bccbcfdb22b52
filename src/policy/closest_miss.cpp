// SPDX-License-Identifier: Apache-2.0
#include "policy/closest_miss.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/version.h"
#include "policy/fact.h"
#include "report/api_table.h"

namespace gpuprobe::inline policy {
namespace {

/// Whether the reason rules out the alternative.
bool ends(const Reason& reason) {
    const auto* row = find_reason(reason.code);
    return row && row->effect == ReasonEffect::Ends;
}

bool is_of_device(const Reason& reason) {
    return find_reason(reason.code)->subject == ReasonSubject::Device;
}

/// Whether the device has too little of a resource, which users cannot change. `backend-not-usable`
/// is excluded, because its causes are separate reasons.
bool is_limit(const Reason& reason) {
    return ends(reason) && is_of_device(reason) && !reason.is("backend-not-usable");
}

/// Whether the reason rules out the alternative, but users can change its cause.
bool is_cause(const Reason& reason) {
    return ends(reason) && !is_of_device(reason);
}

/// Whether the reason's code is about a minimum size or version.
bool is_of_floor(const Reason& reason) {
    return std::ranges::any_of(fact_rows(), [&reason](const FactRow& row) {
        return row.too_low == reason.code && row.too_low != row.unfit;
    });
}

/// The minimum that a reason requires. The minimum is in the member `need` or `want`, depending on
/// the code that created the reason.
const Value& floor_of(const Reason& reason) {
    const auto& need = reason.detail.at("need");
    return need.is_null() ? reason.detail.at("want") : need;
}

/// Whether every value that is at least `floor` is also at least `other`; false if `floor` and
/// `other` aren't numbers or versions.
bool is_as_high(const Value& floor, const Value& other) {
    const auto size = floor.as_unsigned();
    const auto other_size = other.as_unsigned();
    if (size && other_size)
        return *size >= *other_size;
    const auto version = [](const Value& value) {
        const auto* text = value.as_string();
        return text ? parse_text(*text, std::type_identity<Version>{}) : std::nullopt;
    };
    const auto own = version(floor);
    const auto wanted = version(other);
    return own && wanted && *own >= *wanted;
}

/// Whether two reasons have the same value for a member, or at least one of them lacks the member.
bool agree(const Reason& reason, const Reason& other, std::string_view key) {
    const auto& value = reason.detail.at(key);
    const auto& others = other.detail.at(key);
    return value.is_null() || others.is_null() || value == others;
}

/// Whether `reason` requires a minimum for the same fact as `other`, and this minimum is at least
/// as high.
bool outbids(const Reason& reason, const Reason& other) {
    return reason.code == other.code && is_of_floor(reason) && agree(reason, other, "where") &&
           agree(reason, other, "of") && agree(reason, other, "result") &&
           is_as_high(floor_of(reason), floor_of(other));
}

/// Whether a minimum in `others` is strictly higher than the minimum for the same fact in
/// `reasons`.
bool is_outbid(const std::vector<Reason>& reasons, const std::vector<Reason>& others) {
    return std::ranges::any_of(reasons, [&others](const Reason& low) {
        return std::ranges::any_of(others, [&low](const Reason& high) {
            return outbids(high, low) && !outbids(low, high);
        });
    });
}

/// The first reason why the candidate isn't meant for the GPU; nullopt if there is no such reason.
std::optional<Reason> nature_in(const std::vector<Reason>& reasons) {
    const auto found = std::ranges::find_if(reasons, [](const Reason& reason) {
        return has_trait(reason.code, ReasonTraits::ByNature);
    });
    return found == reasons.end() ? std::nullopt : std::optional{*found};
}

/// Whether the GPU is a physical GPU that can compute. On WSL, a physical GPU appears as a virtual
/// device until a driver has answered.
bool may_be_missed(const Gpu& gpu) {
    return gpu.kind != GpuKind::DisplayOnly &&
           (gpu.kind != GpuKind::Virtual || gpu.driver.name == kTransport);
}

}  // namespace

ClosestMiss closest_miss_of(const std::vector<Reason>& reasons) {
    if (reasons.empty() || has_reason_with(reasons, ReasonTraits::ByNature))
        return ClosestMiss::ForOthers;
    if (has_reason_with(reasons, ReasonTraits::ByBuild))
        return ClosestMiss::OtherBuild;
    // Users must be able to change all causes, because a driver update does not help if the device
    // is also too small.
    const bool can_change =
        std::ranges::any_of(reasons, is_cause) && std::ranges::none_of(reasons, is_limit);
    return can_change ? ClosestMiss::CanChange : ClosestMiss::NoCause;
}

bool has_end(const std::vector<Reason>& reasons) {
    return std::ranges::any_of(reasons, ends);
}

bool wants_less(const std::vector<Reason>& reasons, const std::vector<Reason>& others) {
    return is_outbid(reasons, others) && !is_outbid(others, reasons);
}

bool is_nearer(const Route& route, const Route& other) {
    // Alternatives that may be usable come first, then alternatives with a closer miss.
    const auto place = [](const Route& one) {
        return std::tuple{one.is_open, closest_miss_of(one.reasons)};
    };
    const auto own = place(route);
    const auto others = place(other);
    if (own != others)
        return own > others;
    // Then alternatives with fewer obstacles come first, and finally alternatives with lower
    // minimums.
    return route.reasons.size() != other.reasons.size()
               ? route.reasons.size() < other.reasons.size()
               : wants_less(route.reasons, other.reasons);
}

void add_obstacle(Reason reason, std::vector<Reason>& reasons) {
    for (auto& known : reasons) {
        if (outbids(known, reason))
            return;
        // If the new minimum is higher, it includes the old minimum.
        if (outbids(reason, known)) {
            known = std::move(reason);
            return;
        }
    }
    reasons.push_back(std::move(reason));
}

/// The entry of a GPU, which is created on first use.
UnusedGpu::Entry& UnusedGpu::entry_of(const Gpu& gpu) {
    const auto found = std::ranges::find(entries_, &gpu, &Entry::gpu);
    return found == entries_.end() ? entries_.emplace_back(Entry{.gpu = &gpu}) : *found;
}

void UnusedGpu::add(const Gpu& gpu, std::string_view by, std::vector<Reason> reasons) {
    if (!may_be_missed(gpu))
        return;
    auto& entry = entry_of(gpu);
    const auto closest_miss = closest_miss_of(reasons);
    // If a candidate for other GPUs was excluded, this does not mean that this GPU was excluded.
    if (closest_miss != ClosestMiss::ForOthers && has_reason_with(reasons, ReasonTraits::Wished)) {
        entry.is_wished = true;
        return;
    }
    // Candidates for other GPUs explain why this GPU is unused only if all of them have the same
    // reason.
    if (entry.closest_miss == ClosestMiss::ForOthers && closest_miss == ClosestMiss::ForOthers &&
        nature_in(entry.reasons) != nature_in(reasons))
        entry.reasons.clear();
    // Keep only the closest miss. Among equally close misses, keep the first miss, unless the new
    // miss has lower minimums.
    const bool is_as_near =
        entry.closest_miss == closest_miss && wants_less(reasons, entry.reasons);
    if (entry.closest_miss && closest_miss <= *entry.closest_miss && !is_as_near)
        return;
    entry.closest_miss = closest_miss;
    entry.by = by;
    entry.reasons = std::move(reasons);
}

std::optional<Reason> UnusedGpu::warning() const {
    const Entry* best = nullptr;
    for (const auto& entry : entries_)
        if (entry.counts() && (!best || entry.closest_miss > best->closest_miss))
            best = &entry;
    if (!best)
        return std::nullopt;
    Value::Object detail{{"gpu", best->gpu->id}};
    // A candidate for other GPUs does not explain why this GPU is unused, so don't name the
    // candidate.
    if (best->closest_miss != ClosestMiss::ForOthers)
        detail.push_back({"by", best->by});
    if (!best->reasons.empty())
        detail.push_back({"reasons", to_value(best->reasons)});
    return because("gpu-unused", std::move(detail));
}

}  // namespace gpuprobe::inline policy
