// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/decision_service.h"
#include "report/assemble.h"
#include "report/report.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {

/// Assembles the report, notifies listeners of each new generation, and stores results in the cache
/// for the next start.
class Publisher {
public:
    /// Results that arrive within this time are published together. Callers wait for the first
    /// results of a round, so these are published early; each later publication waits twice as long
    /// as the previous one, up to kGather.
    static constexpr Duration kFirstGather = std::chrono::milliseconds{5};
    static constexpr Duration kGather = std::chrono::milliseconds{50};

    /// `is_probing` returns whether the report should have the state Probing.
    Publisher(const EngineContext& context,
              const DecisionService& decisions,
              std::function<bool()> is_probing);

    [[nodiscard]] const Report& report() const { return report_; }
    /// The report as one line of JSON; made once per report.
    [[nodiscard]] const std::string& json() const;
    /// Adds a callback that is called after each new generation.
    void on_change(std::function<void()> changed) { listeners_.push_back(std::move(changed)); }
    /// Adds a note to all later reports.
    void add_note(Reason note) { notes_.push_back(std::move(note)); }

    /// Assembles the report again. It is a new generation if its stable part has changed, or if
    /// `is_new`: decisions may change although the report does not.
    void publish(bool is_new = false);
    /// Calls publish() within kGather, or sooner at the beginning of a round.
    void publish_soon();

    /// Whether drivers may report different results than at the last call.
    [[nodiscard]] bool has_new_fingerprint();
    /// The results that an earlier process cached for this machine. nullopt without a usable cache,
    /// and after the end of the first round of queries.
    [[nodiscard]] std::optional<store::CachedProbes> load_cache();
    /// Writes the cache. Errors are ignored: they only cost the next start some probes.
    void save_cache(const store::CachedProbes& probes) const;
    /// All drivers have been probed: the report no longer depends on the cache.
    void round_ended() {
        basis_ = Basis::Drivers;
        gather_ = kFirstGather;
    }
    [[nodiscard]] bool is_from_cache() const { return basis_ == Basis::Cache; }

private:
    /// The basis of the results. It only moves down this list.
    enum class Basis { Nothing, Cache, Drivers };
    [[nodiscard]] ReportContext report_context() const;
    [[nodiscard]] Report assembled() const;
    [[nodiscard]] std::vector<std::string> default_choice(const Report& report, WallTime now) const;

    EngineContext context_;
    const DecisionService& decisions_;
    std::optional<store::ProbeCache> cache_ = {};
    std::function<bool()> is_probing_;
    Basis basis_ = Basis::Nothing;
    std::string fingerprint_ = {};
    Report report_ = {};
    mutable std::string json_ = {};  ///< empty: not made yet for this report
    std::vector<Reason> notes_ = {};
    std::vector<std::function<void()>> listeners_ = {};
    EventHandle gathering_ = {};
    Duration gather_ = kFirstGather;  ///< how long the next publish_soon() waits
};

}  // namespace gpuprobe::engine
