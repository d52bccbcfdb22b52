// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "report/access.h"

namespace gpuprobe::inline service {

/// The report as one class of callers may see it. Callers who may open the same nodes are one
/// class.
struct View {
    std::string access = {};  ///< the class; see access_class()
    const Report* report = nullptr;
    const std::string* json = nullptr;  ///< the report as one line
};

/// The views of the engine's report. Most callers share one; each is made when first asked for.
class ReportViews {
public:
    static constexpr std::size_t kMaxViews = 8;  ///< beside the prober's own

    /// `engine` must outlive this.
    explicit ReportViews(const engine::Engine& engine) : engine_{engine} {}

    /// Holds until the next call of any function here.
    [[nodiscard]] View of(const Caller& caller);
    /// The same without its JSON, which is then null.
    [[nodiscard]] View report_for(const Caller& caller);

private:
    struct Seen {
        std::string access = {};
        Report report = {};
        std::string json = {};  ///< empty until asked for
    };
    Seen& seen_by(const std::string& access, const Caller& caller);

    void forget_older();

    const engine::Engine& engine_;
    std::uint64_t generation_ = 0;
    std::optional<WallTime> created_ = {};
    std::list<Seen> seen_ = {};  ///< of that report; last used first
};

}  // namespace gpuprobe::inline service
