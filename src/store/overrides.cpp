// SPDX-License-Identifier: Apache-2.0
#include "store/overrides.h"

#include "base/value_json.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxFile = mib(4);

Result<std::map<std::string, Override>> entries_from(const Value& document) {
    std::map<std::string, Override> entries;
    const auto problem = read_value(document.at("overrides"), entries);
    if (!problem.empty())
        return Error{ErrorCode::Malformed, "overrides: " + problem.text()};
    if (entries.size() > Overrides::kMaxConsumers)
        return Error{ErrorCode::TooLarge, "overrides: too many"};
    return entries;
}

}  // namespace

Overrides::Overrides(std::optional<std::string> path) {
    if (path)
        file_.emplace(std::move(*path), "overrides", 1, kMaxFile);
}

Status Overrides::load() {
    if (!file_)
        return Done{};
    return file_->take([this](const Value& document) -> Status {
        entries_ = TRY(entries_from(document));
        return Done{};
    });
}

/// Before anything is changed: another process may have written since this one read.
Status Overrides::own() {
    if (file_ && TRY(file_->claim()))
        (void)load();  // what can't be read has been set aside
    return Done{};
}

Status Overrides::adopt(std::map<std::string, Override> entries) {
    if (file_) {
        Value document;
        document["overrides"] = to_value(entries);
        TRY(file_->save(document));
    }
    entries_ = std::move(entries);
    return Done{};
}

Status Overrides::set(const std::string& consumer, Override entry) {
    if (json_line(entry.rule).size() > kMaxRule.count)
        return Error{ErrorCode::TooLarge, "override: over 8 KiB"};
    TRY(own());
    auto entries = entries_;
    entries.insert_or_assign(consumer, std::move(entry));
    if (entries.size() > kMaxConsumers)
        return Error{ErrorCode::TooManyRequests, "override: there are 256 consumers with one"};
    return adopt(std::move(entries));
}

Result<bool> Overrides::clear(const std::string& consumer) {
    const auto owned = own();
    auto entries = entries_;
    if (entries.erase(consumer) == 0)
        return false;
    TRY(owned);
    TRY(adopt(std::move(entries)));
    return true;
}

const Override* Overrides::find(const std::string& consumer) const {
    const auto found = entries_.find(consumer);
    return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace gpuprobe
