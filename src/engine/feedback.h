// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/override_rule.h"
#include "policy/select.h"
#include "report/report.h"
#include "store/state_files.h"

namespace gpuprobe::engine {

/// A caller's report whether a choice worked: the argument of the method ReportOutcome.
struct OutcomeReport {
    std::string consumer = {};  ///< the application
    std::string choice = {};    ///< backend, "variant:NAME" or "family:NAME"
    std::optional<std::string> gpu = {};
    bool worked = false;
    std::optional<std::string> detail = {};
};

/// Reads `consumer`; one of `backend`, `variant` and `family`; `outcome`, which is "ok" or
/// "failed"; and optionally `gpu` (an id) and `detail` (a message for users, cut to 512 bytes).
/// Errors: InvalidRequest with the key at fault.
Result<OutcomeReport> outcome_report_from(const Value& object);

/// Feedback that was given on this machine: overrides by administrators and outcomes that callers
/// reported.
class Feedback {
public:
    /// `folder`: holds the files of both; if absent, they last as long as this object.
    /// `account_of`: see store::Outcomes.
    explicit Feedback(const std::optional<std::string>& folder,
                      store::Outcomes::AccountOf account_of = {});

    /// Reads both files. Returns a note for each file that could not be read and was set aside.
    std::vector<Reason> load();

    /// Sets the override of an application. Errors: InvalidRequest for a bad name or rule, and as
    /// Overrides::set().
    Status set_override(const std::string& consumer, const Value& rule, uid_t by, WallTime now);
    /// Removes an override; returns false if it does not exist. Errors: as Overrides::clear().
    Result<bool> clear_override(const std::string& consumer);
    [[nodiscard]] const store::Overrides& overrides() const { return overrides_; }
    /// An `override-set` note for each override, for the report.
    [[nodiscard]] std::vector<Reason> override_notes() const;
    /// The application's override; nullopt if it has none that can be read.
    [[nodiscard]] std::optional<OverrideRule> rule_for(const std::string& consumer) const;

    /// Records an outcome. Errors: UnknownDevice for an unknown GPU, and as Outcomes::failed() and
    /// Outcomes::worked().
    Status report(const OutcomeReport& outcome, uid_t by, const Report& machine, WallTime now);
    /// The failures that count for this caller: they have not expired, and the drivers have not
    /// changed since.
    [[nodiscard]] Experience experience_of(uid_t uid,
                                           const std::string& consumer,
                                           const Report& machine,
                                           WallTime now) const;
    /// Whether any reported failure counts for this caller, for any application.
    [[nodiscard]] bool concerns(uid_t uid) const;

private:
    store::Overrides overrides_;
    store::Outcomes outcomes_;
    store::Outcomes::AccountOf account_of_;
};

}  // namespace gpuprobe::engine
