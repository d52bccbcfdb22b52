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
#include "store/probe_cache.h"

namespace gpuprobe::engine {

/// Makes the report of what is known, tells when it has become another one, and keeps in the cache
/// what the next start can use.
class Publisher {
public:
    /// Results that arrive within this time become one generation. The first of a round are waited
    /// for: they make a generation early, and each later one gathers for twice as long.
    static constexpr Duration kFirstGather = std::chrono::milliseconds{5};
    static constexpr Duration kGather = std::chrono::milliseconds{50};

    /// `is_probing` tells whether the report should say that probes run.
    Publisher(const EngineContext& context,
              const DecisionService& decisions,
              std::function<bool()> is_probing);

    [[nodiscard]] const Report& report() const { return report_; }
    /// The report as one line of JSON; built once per report.
    [[nodiscard]] const std::string& json() const;
    /// `changed` is called after each new generation.
    void on_change(std::function<void()> changed) { listeners_.push_back(std::move(changed)); }
    /// Adds a note to all later reports.
    void add_note(Reason note) { notes_.push_back(std::move(note)); }

    /// Replaces the report. It is a new generation if its stable part has changed, or if `is_new`,
    /// because decisions have changed although the report has not.
    void publish(bool is_new = false);
    /// Does that within kGather, sooner at the beginning of a round.
    void publish_soon();

    /// Whether drivers may report something else than at the last call.
    [[nodiscard]] bool has_new_fingerprint();
    /// What an earlier process has cached for this machine, before any driver was heard. nullopt
    /// without a usable cache.
    [[nodiscard]] std::optional<store::CachedProbes> load_cache();
    /// A cache that can't be written costs the next start some probes, nothing else.
    void save_cache(const store::CachedProbes& probes) const;
    /// All drivers have been asked: the report no longer depends on the cache.
    void round_ended() {
        basis_ = Basis::Drivers;
        gather_ = kFirstGather;
    }
    [[nodiscard]] bool is_from_cache() const { return basis_ == Basis::Cache; }

private:
    /// What the results are based on; it only ever moves down this list.
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
    mutable std::string json_ = {};
    std::vector<Reason> notes_ = {};
    std::vector<std::function<void()>> listeners_ = {};
    EventHandle gathering_ = {};
    Duration gather_ = kFirstGather;
};

}  // namespace gpuprobe::engine
