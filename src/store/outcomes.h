// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/record.h"
#include "base/result.h"
#include "store/checked_file.h"

namespace gpuprobe {

/// A choice that did not work, as a caller reported it.
struct FailedChoice {
    std::uint32_t uid = 0;
    std::string consumer = {};               ///< or product
    std::string choice = {};                 ///< backend, or a variant's family
    std::optional<std::string> gpu = {};     ///< id; absent: whatever the GPU
    std::string fingerprint = {};            ///< of the drivers below it when it failed
    std::optional<std::string> detail = {};  ///< the caller's words
    WallTime at = {};
    bool operator==(const FailedChoice&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, FailedChoice& failure) {
    visit("uid", failure.uid);
    visit("consumer", failure.consumer);
    visit("choice", failure.choice);
    visit("gpu", failure.gpu);
    visit("fingerprint", failure.fingerprint);
    visit("detail", failure.detail);
    visit("at_usec", failure.at);
}

/// What failed of late, by caller, kept in one file. A report of root's counts for everybody, any
/// other's for that user alone. It is forgotten after kLasts, when the same caller reports success,
/// and when the drivers below it change.
class Outcomes {
public:
    static constexpr Duration kLasts = std::chrono::hours{7 * 24};
    static constexpr std::size_t kMaxPerUser = 64;  ///< the oldest gives way
    static constexpr std::size_t kMaxAll = 1024;
    static constexpr std::size_t kMaxDetail = 512;  ///< bytes; whoever fills it in cuts it

    /// Without a file they last as long as this object.
    explicit Outcomes(std::optional<std::string> path);

    /// Errors: as Overrides::load().
    Status load();
    /// In place of an earlier one of the same caller about the same choice. Errors: TooManyRequests
    /// over kMaxAll, and those of saving; nothing has changed then.
    Status failed(FailedChoice failure);
    /// Forgets what that user reported about the choice; without a GPU, on every GPU. Errors: those
    /// of saving.
    Status worked(const FailedChoice& choice);

    /// Those that count for `uid` asking for `consumer` at the instant `now`, oldest first.
    [[nodiscard]] std::vector<FailedChoice> counting_for(std::uint32_t uid,
                                                         const std::string& consumer,
                                                         WallTime now) const;
    /// Whether this user has failures of its own: its answers are then not everybody's.
    [[nodiscard]] bool has_own(std::uint32_t uid) const;
    [[nodiscard]] const std::vector<FailedChoice>& all() const { return entries_; }

private:
    Status own();
    Status adopt(std::vector<FailedChoice> entries);

    std::optional<CheckedFile> file_;
    std::vector<FailedChoice> entries_ = {};  ///< oldest first
};

}  // namespace gpuprobe
