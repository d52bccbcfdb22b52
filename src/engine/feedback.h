// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/experience.h"
#include "policy/override_rule.h"
#include "report/report.h"
#include "store/feedback.h"

namespace gpuprobe::engine {

/// How a choice worked out, as a caller reports it: the argument of ReportOutcome.
struct OutcomeReport {
    std::string consumer = {};  ///< or product
    std::string choice = {};    ///< backend, "variant:NAME" or "family:NAME"
    std::optional<std::string> gpu = {};
    bool worked = false;
    std::optional<std::string> detail = {};
};

/// Reads `consumer`; one of `backend`, `variant` and `family`; `outcome`, which is "ok" or
/// "failed"; and optionally `gpu` (an id) and `detail` (for people, cut to 512 bytes). Errors:
/// InvalidRequest, naming the key.
Result<OutcomeReport> outcome_report_from(const Value& object);

/// What people told this machine: administrators through overrides, callers through reported
/// outcomes.
class Feedback {
public:
    /// `folder`: where both are kept; without one they last as long as this object.
    /// `account_of`: see store::Outcomes.
    explicit Feedback(const std::optional<std::string>& folder,
                      store::Outcomes::AccountOf account_of = {});

    /// One note for each file that could not be read; it has been set aside.
    std::vector<Reason> load();

    /// Errors: InvalidRequest for a name or a rule, and those of Overrides::set().
    Status set_override(const std::string& consumer, const Value& rule, uid_t by, WallTime now);
    /// False when there was none. Errors: those of Overrides::clear().
    Result<bool> clear_override(const std::string& consumer);
    [[nodiscard]] const store::Overrides& overrides() const { return overrides_; }
    /// One `override-set` note for each, for the report.
    [[nodiscard]] std::vector<Reason> override_notes() const;
    /// nullopt when there is none for that consumer.
    [[nodiscard]] std::optional<OverrideRule> rule_for(const std::string& consumer) const;

    /// Errors: InvalidRequest for a name, UnknownDevice for a GPU that is not there, and those of
    /// Outcomes.
    Status report(const OutcomeReport& outcome, uid_t by, const Report& machine, WallTime now);
    /// The failures that count for this caller: those that have not expired and whose drivers have
    /// not changed since.
    [[nodiscard]] Experience experience_of(uid_t uid,
                                           const std::string& consumer,
                                           const Report& machine,
                                           WallTime now) const;
    /// Whether any reported failure counts for this caller, for whatever consumer.
    [[nodiscard]] bool concerns(uid_t uid) const;

private:
    store::Overrides overrides_;
    store::Outcomes outcomes_;
    store::Outcomes::AccountOf account_of_;
};

}  // namespace gpuprobe::engine
