// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/record.h"
#include "base/result.h"
#include "store/checked_file.h"

namespace gpuprobe {

/// A rule that an administrator set for one consumer; policy/override_rule.h says what it means.
struct Override {
    Value rule = {};
    WallTime set_at = {};
    std::uint32_t set_by = 0;  ///< uid
    bool operator==(const Override&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Override& entry) {
    visit("rule", entry.rule);
    visit("set_at_usec", entry.set_at);
    visit("set_by_uid", entry.set_by);
}

/// The overrides of this machine, by consumer, kept in one file.
class Overrides {
public:
    static constexpr std::size_t kMaxConsumers = 256;
    static constexpr Bytes kMaxRule = kib(8);

    /// Without a file they last as long as this object.
    explicit Overrides(std::optional<std::string> path);

    /// What the file holds. Errors: as CheckedFile::load() but NotFound, which is no overrides; the
    /// file has then been set aside and there are none.
    Status load();
    /// Errors: TooLarge for a rule, TooManyRequests over kMaxConsumers, and those of
    /// CheckedFile::claim() and saving;
    /// nothing has changed then.
    Status set(const std::string& consumer, Override entry);
    /// False when there was none. Errors: those of saving; nothing has changed then.
    Result<bool> clear(const std::string& consumer);

    /// Null when there is none. Valid until the next change.
    [[nodiscard]] const Override* find(const std::string& consumer) const;
    [[nodiscard]] const std::map<std::string, Override>& all() const { return entries_; }

private:
    Status own();
    Status adopt(std::map<std::string, Override> entries);

    std::optional<CheckedFile> file_;
    std::map<std::string, Override> entries_ = {};
};

}  // namespace gpuprobe
