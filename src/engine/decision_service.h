// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/knowledge_base.h"
#include "policy/application_set.h"
#include "policy/decision.h"
#include "policy/override_rule.h"
#include "policy/recommend.h"
#include "policy/select.h"
#include "report/report.h"
#include "store/state_files.h"

namespace gpuprobe::engine {

/// A caller's report about whether a choice worked: the argument of the method ReportOutcome.
struct OutcomeReport {
    std::string application = {};  ///< name of the application
    std::string choice = {};       ///< a backend, "variant:NAME" or "family:NAME"
    std::optional<std::string> gpu = {};
    bool worked = false;
    std::optional<std::string> detail = {};
};

/// Reads `application`; one of `backend`, `variant` and `family`; `outcome`, which is "ok" or
/// "failed"; and optionally `gpu` (an id) and `detail` (a message for users, shortened to 512
/// bytes). Errors: InvalidRequest with the key at fault.
Result<OutcomeReport> outcome_report_from(const Value& object);

/// Feedback that was given on this machine: overrides by administrators and outcomes that callers
/// reported.
class Feedback {
public:
    /// `folder` contains the files with overrides and outcomes. If `folder` is absent, overrides
    /// and outcomes last only as long as this object. `account_of` is passed to store::Outcomes.
    explicit Feedback(const std::optional<std::string>& folder,
                      store::Outcomes::AccountOf account_of = {});

    /// Reads the files with overrides and outcomes. Returns a note for each file that could not be
    /// read and was set aside.
    std::vector<Reason> load();

    /// Sets the override of an application. Errors: InvalidRequest for a bad name or rule, and the
    /// errors of Overrides::set().
    Status set_override(const std::string& application, const Value& rule, uid_t by, WallTime now);
    /// Removes an override; returns false if the application has no override. Errors: the same as
    /// for Overrides::clear().
    Result<bool> clear_override(const std::string& application);
    [[nodiscard]] const store::Overrides& overrides() const { return overrides_; }
    /// An `override-set` note for each override, for the report.
    [[nodiscard]] std::vector<Reason> override_notes() const;
    /// The application's override; nullopt if the application has no override or if the override
    /// cannot be read.
    [[nodiscard]] std::optional<OverrideRule> rule_for(const std::string& application) const;

    /// Records an outcome. Errors: UnknownDevice for an unknown GPU, and the errors of
    /// Outcomes::failed() and Outcomes::worked().
    Status report(const OutcomeReport& outcome, uid_t by, const Report& machine, WallTime now);
    /// The failures that count for the caller `uid`. A failure counts until it expires or the
    /// drivers change.
    [[nodiscard]] Experience experience_of(uid_t uid,
                                           const std::string& application,
                                           const Report& machine,
                                           WallTime now) const;
    /// Whether any reported failure counts for the caller `uid`, for any application.
    [[nodiscard]] bool concerns(uid_t uid) const;

private:
    store::Overrides overrides_;
    store::Outcomes outcomes_;
    store::Outcomes::AccountOf account_of_;
};

/// The caller of a decision and the data on which the decision is based. The members are borrowed
/// for one call.
struct CallerContext {
    uid_t uid = 0;
    const Report& machine;
    const Report& seen;  ///< the machine with the caller's access rights
    WallTime now = {};
};

/// Selects backends and recommends variants, based on the data files of applications and on
/// feedback from users of this machine.
class DecisionService {
public:
    struct Folders {
        /// The folders of data files about applications. Files in later folders override files in
        /// earlier folders.
        std::vector<std::string> applications = {};
        /// The folders of other data files. If absent, only compiled-in data files are used.
        std::optional<KnowledgeFolders> knowledge = {};
        std::optional<std::string> state = {};       ///< folder for feedback, if feedback is stored
        store::Outcomes::AccountOf account_of = {};  ///< the same as in EngineOptions
    };
    explicit DecisionService(Folders folders);

    /// Reads the data files again. Overrides and outcomes are kept.
    void reload();

    /// Frees the memory of parsed data files, which are parsed again when they are used.
    void forget_parsed() { documents_.applications.forget(); }

    /// A note for each file that was ignored or set aside.
    [[nodiscard]] std::vector<Reason> notes() const;
    [[nodiscard]] std::vector<ApplicationSummary> applications() const {
        return documents_.applications.summaries();
    }
    [[nodiscard]] Feedback& feedback() { return feedback_; }
    [[nodiscard]] const Feedback& feedback() const { return feedback_; }

    /// Selects a backend of the application. Applies the application's override and the failures
    /// that the caller reported. Errors: UnknownApplication, InvalidRequest or UnknownDevice.
    [[nodiscard]] Result<Decision> select(const std::string& application,
                                          const Value& request,
                                          const CallerContext& caller) const;
    /// Recommends a variant of the application. Like select(), applies the application's override
    /// and the failures that the caller reported. If `manifest` isn't empty, it is the JSON of a
    /// manifest, and `application` is used as the name if the JSON contains no name. If `manifest`
    /// is empty, `application` is the name of an installed manifest. Errors: UnknownApplication or
    /// InvalidRequest; NotFound if the application has no variants; TooLarge or Malformed for a
    /// manifest.
    [[nodiscard]] Result<Recommendation> recommend(const std::string& application,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   const CallerContext& caller) const;

    /// Merges the rule into the application's override, key by key; an override that becomes empty
    /// is cleared. Errors: UnknownApplication; InvalidRequest or UnknownDevice for an unknown name,
    /// with the most similar known name; the errors of Feedback::set_override().
    Status set_override(const std::string& application, const Value& rule, const CallerContext& by);
    /// Records an outcome. Errors: the errors of set_override() about names, and the errors of
    /// Feedback::report(). The variants of an application that isn't installed aren't checked.
    Status report(const OutcomeReport& outcome, const CallerContext& by);

private:
    [[nodiscard]] Status check_name(const std::string& application, bool may_be_foreign) const;
    /// The compiled-in data files and the data files from the folders.
    struct Documents {
        ApplicationSet applications;
        Rules rules;
        std::vector<Reason> ignored = {};  ///< a note for each file that cannot be used
    };
    static Documents read(const Folders& folders);
    [[nodiscard]] Result<Manifest> manifest_of(const std::string& application,
                                               std::string_view manifest) const;

    Folders folders_;
    Documents documents_;
    Feedback feedback_;
    std::vector<Reason> set_aside_ = {};  ///< a note for each broken feedback file
};

}  // namespace gpuprobe::engine
