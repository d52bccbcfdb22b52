// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/advice.h"
#include "engine/recommender.h"
#include "policy/decision.h"
#include "policy/profile_set.h"

namespace gpuprobe {

/// Who asks, and what is known at that moment; borrowed for one answer.
struct Asker {
    uid_t uid = 0;
    const Report& machine;
    const Report& seen;  ///< the machine as this user may see it
    WallTime now = {};
};

/// What answers rest on beside the report: the consumers' profiles, the products' manifests, and
/// what people told this machine.
class Counsel {
public:
    struct Folders {
        std::vector<std::string> profiles = {};    ///< later ones add and replace
        std::vector<std::string> catalogues = {};  ///< the same
        std::optional<std::string> state = {};     ///< nothing outlives this object when absent
    };
    /// Errors: Malformed for a broken built-in document.
    static Result<Counsel> create(const Folders& folders);

    /// Reads the folders of profiles and catalogues again. What people told stays. Errors: as
    /// create(); nothing has changed then.
    Status reload();

    /// One note for each file that was ignored or set aside.
    [[nodiscard]] std::vector<Reason> notes() const;
    [[nodiscard]] std::vector<std::string> consumers() const { return profiles_.names(); }
    [[nodiscard]] std::vector<std::string> products() const { return recommender_.products(); }
    [[nodiscard]] Advice& advice() { return advice_; }
    [[nodiscard]] const Advice& advice() const { return advice_; }

    /// Under the override for that consumer and with the asker's experience.
    /// Errors: UnknownConsumer, InvalidRequest, UnknownDevice.
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request,
                                          const Asker& asker) const;
    /// The same. Errors: those of Recommender::recommend().
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   const Asker& asker) const;

private:
    Counsel(ProfileSet profiles, Recommender recommender, Folders folders);
    void read_folders();

    Folders folders_;
    ProfileSet profiles_;
    Recommender recommender_;
    Advice advice_;
    std::vector<Reason> ignored_ = {};    ///< profiles and manifests
    std::vector<Reason> set_aside_ = {};  ///< what people told
};

}  // namespace gpuprobe
