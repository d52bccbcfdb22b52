// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "base/record.h"
#include "base/result.h"
#include "wire/callers.h"
#include "wire/sdbus.h"

namespace gpuprobe {

/// What not every caller may do. Polkit's names for them begin with "org.gpuprobe."; data/polkit/
/// says who may do what by default.
enum class Action { AllowWake, MeasureInUse, GetIdentifiers, SetOverride, ClearQuarantine };
constexpr std::array<EnumName<Action>, 5> names_of(Action) {
    return {{{Action::AllowWake, "allow-wake"},
             {Action::MeasureInUse, "measure-in-use"},
             {Action::GetIdentifiers, "get-identifiers"},
             {Action::SetOverride, "set-override"},
             {Action::ClearQuarantine, "clear-quarantine"}}};
}
/// "org.gpuprobe.allow-wake"
std::string action_id(Action action);

/// A caller on the bus who wants something that needs permission.
struct Requester {
    std::string sender = {};    ///< unique name
    bool may_be_asked = false;  ///< the call allows polkit to ask its user for a password
};

/// Decides whether a caller may do something. Root and the daemon's own user always may. For
/// anybody else polkit decides, which identifies the caller by the name on the bus, because process
/// ids are reused. Workers may be of the daemon's own user too. They have more system-call filters
/// than the daemon for life, and who has that is not taken for its user.
///
/// Other calls go on meanwhile. If polkit is absent, gives a malformed answer or does not answer in
/// time, the answer is no.
/// Source: polkit, org.freedesktop.PolicyKit1.Authority.CheckAuthorization.
class Authority {
public:
    static constexpr Duration kPatience = std::chrono::seconds{5};
    /// Someone has to find a password.
    static constexpr Duration kPatienceWithPeople = std::chrono::minutes{2};
    static constexpr std::size_t kMaxPending = 64;  ///< questions to polkit
    /// From one user, so that one user's questions do not keep out the others'.
    static constexpr std::size_t kMaxPendingOfOne = 8;

    explicit Authority(sdbus::IConnection& connection);
    ~Authority();

    /// Calls `answer` once, later, with NotAuthorized or TooManyRequests where the caller may not.
    /// After this object is gone, `answer` is destroyed unused.
    void ask(const Requester& who, Action action, std::function<void(const Status&)> answer);

private:
    using Answer = std::function<void(const Status&)>;
    void ask_polkit(const Requester& who, uid_t uid, Action action, const Answer& answer);
    [[nodiscard]] bool takes_another(uid_t uid) const;
    void answered(uid_t uid);

    bus::Callers callers_;
    std::multiset<uid_t> pending_ = {};  ///< who waits for polkit, for each question once
    std::unique_ptr<sdbus::IProxy> polkit_;
};

}  // namespace gpuprobe
