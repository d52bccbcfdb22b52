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

/// What not every caller may do. The names are polkit's, behind "org.gpuprobe."; who may do what by
/// default stands in data/polkit/.
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

/// Whoever asks us on the bus for something that needs leave.
struct Requester {
    std::string sender = {};    ///< unique name
    bool may_be_asked = false;  ///< the call allows polkit to ask its user for a password
};

/// Decides whether a caller may do something. Root and the user whom we run as always may; for
/// anybody else polkit decides, by the caller's name on the bus: process ids are used again.
///
/// Nothing waits: a polkit that is absent, answers rubbish or does not answer in time means no.
/// Source: polkit, org.freedesktop.PolicyKit1.Authority.CheckAuthorization.
class Authority {
public:
    static constexpr Duration kPatience = std::chrono::seconds{5};
    /// Someone has to find a password.
    static constexpr Duration kPatienceWithPeople = std::chrono::minutes{2};
    static constexpr std::size_t kMaxPending = 64;  ///< questions to polkit
    /// Of one user's: nobody answers for the others meanwhile.
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
