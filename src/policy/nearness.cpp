// SPDX-License-Identifier: Apache-2.0
#include "policy/nearness.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/dotted_version.h"
#include "policy/fact.h"

namespace gpuprobe::inline policy {
namespace {

bool ends(const Reason& reason) {
    const auto* row = find_reason(reason.code);
    return row && row->effect == ReasonEffect::Ends;
}

bool is_of_device(const Reason& reason) {
    return find_reason(reason.code)->subject == ReasonSubject::Device;
}

/// The device has too little of something, which nobody changes. (Why a backend can't be used is
/// told beside that.)
bool is_limit(const Reason& reason) {
    return ends(reason) && is_of_device(reason) && !reason.is("backend-not-usable");
}

bool is_cause(const Reason& reason) {
    return ends(reason) && !is_of_device(reason);
}

/// Whether the code is that of a floor under a size or version.
bool is_of_floor(const Reason& reason) {
    return std::ranges::any_of(fact_rows(), [&reason](const FactRow& row) {
        return row.too_low == reason.code && row.too_low != row.unfit;
    });
}

const Value& floor_of(const Reason& reason) {
    const auto& need = reason.detail.at("need");
    return need.is_null() ? reason.detail.at("want") : need;
}

/// Whether what reaches the first floor reaches the second; false where they are not numbers.
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

/// Of two reasons about one thing: a member that only one of them has makes no difference.
bool agree(const Reason& reason, const Reason& other, std::string_view key) {
    const auto& value = reason.detail.at(key);
    const auto& others = other.detail.at(key);
    return value.is_null() || others.is_null() || value == others;
}

bool outbids(const Reason& reason, const Reason& other) {
    return reason.code == other.code && is_of_floor(reason) && agree(reason, other, "where") &&
           agree(reason, other, "of") && agree(reason, other, "result") &&
           is_as_high(floor_of(reason), floor_of(other));
}

/// Whether a floor of the others' is higher than one of these.
bool is_outbid(const std::vector<Reason>& reasons, const std::vector<Reason>& others) {
    return std::ranges::any_of(reasons, [&others](const Reason& low) {
        return std::ranges::any_of(others, [&low](const Reason& high) {
            return outbids(high, low) && !outbids(low, high);
        });
    });
}

}  // namespace

Nearness nearness_of(const std::vector<Reason>& reasons) {
    if (reasons.empty() || has_reason_with(reasons, ReasonTraits::ByNature))
        return Nearness::ForOthers;
    if (has_reason_with(reasons, ReasonTraits::ByBuild))
        return Nearness::OtherBuild;
    const bool can_change =
        std::ranges::any_of(reasons, is_cause) && std::ranges::none_of(reasons, is_limit);
    return can_change ? Nearness::CanChange : Nearness::NoCause;
}

bool has_end(const std::vector<Reason>& reasons) {
    return std::ranges::any_of(reasons, ends);
}

bool wants_less(const std::vector<Reason>& reasons, const std::vector<Reason>& others) {
    return is_outbid(reasons, others) && !is_outbid(others, reasons);
}

bool is_nearer(const Way& way, const Way& other) {
    const auto place = [](const Way& one) {
        return std::tuple{one.is_open, nearness_of(one.reasons)};
    };
    const auto own = place(way);
    const auto others = place(other);
    if (own != others)
        return own > others;
    return way.reasons.size() != other.reasons.size() ? way.reasons.size() < other.reasons.size()
                                                      : wants_less(way.reasons, other.reasons);
}

void add_obstacle(Reason reason, std::vector<Reason>& reasons) {
    for (auto& told : reasons) {
        if (outbids(told, reason))
            return;
        if (outbids(reason, told)) {
            told = std::move(reason);
            return;
        }
    }
    reasons.push_back(std::move(reason));
}

}  // namespace gpuprobe::inline policy
