// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "report/access.h"

namespace gpuprobe::inline service {

/// The report as one class of callers may see it. A class consists of all callers who may open the
/// same device nodes.
struct View {
    std::string access = {};  ///< the class, from access_class()
    const Report* report = nullptr;
    const std::string* json = nullptr;  ///< the report as one line
};

/// Cached views of the engine's report. Most callers share one view. A view is created on first
/// use.
class ReportViews {
public:
    static constexpr std::size_t kMaxViews = 8;  ///< besides the report as the prober sees it

    /// `engine` must outlive this object.
    explicit ReportViews(const engine::Engine& engine) : engine_{engine} {}

    /// The view for a caller. Valid until the next call of any function of this class.
    [[nodiscard]] View of(const Caller& caller);
    /// The same without JSON: View::json is null.
    [[nodiscard]] View report_for(const Caller& caller);

private:
    struct Seen {
        std::string access = {};
        Report report = {};
        std::string json = {};  ///< empty until first used
    };
    Seen& seen_by(const std::string& access, const Caller& caller);

    void forget_older();

    const engine::Engine& engine_;
    std::uint64_t generation_ = 0;
    std::optional<WallTime> created_ = {};
    std::list<Seen> seen_ = {};  ///< views of that report, most recently used first
};

}  // namespace gpuprobe::inline service
