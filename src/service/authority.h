// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "calls/methods.h"
#include "service/admission.h"
#include "wire/connection.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// "org.gpuprobe.allow-wake"
std::string action_id(Action action);

/// A caller who wants something that needs permission.
struct Requester {
    std::string sender = {};    ///< unique name on the bus
    bool may_be_asked = false;  ///< the call allows polkit to ask its user for a password
};

/// A caller on the daemon's own socket.
struct SocketRequester {
    bus::Credentials credentials = {};
    /// Of the process that connected; what polkit says counts only while that lives, because
    /// process ids are reused. Empty where the kernel has none to give (before Linux 6.5).
    std::shared_ptr<const UniqueFd> process = {};  // kept by the question
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

    /// Both must outlive this.
    Authority(sdbus::IConnection& connection, Admission& admission);
    ~Authority();

    /// Calls `answer` once, later or at once, with NotAuthorized or TooManyRequests where the
    /// caller may not. After this object is gone, `answer` is destroyed unused.
    void ask(const Requester& who, Action action, std::function<void(const Status&)> answer);
    void ask(const SocketRequester& who, Action action, std::function<void(const Status&)> answer);
    /// One action after the other: the first refusal, or Done when all are permitted.
    template <class Asker>
    void ask_for_all(const Asker& who,
                     std::vector<Action> actions,
                     std::function<void(const Status&)> answer) {
        if (actions.empty())
            return answer(Done{});
        const auto next = actions.back();
        actions.pop_back();
        ask(who, next, [this, who, actions, answer](const Status& may) {
            may ? ask_for_all(who, actions, answer) : answer(may);
        });
    }
    /// Root and the daemon's own user, for whom nobody else is asked.
    static bool is_trusted(const bus::Credentials& caller);
    /// The answer where there is no polkit to be asked.
    static Status refused(Action action);

private:
    using Answer = std::function<void(const Status&)>;
    /// Whom polkit is asked about: a kind of subject with what tells it from others.
    struct Subject {
        std::string kind = {};
        bus::Dictionary details = {};
        uid_t uid = 0;
        bool may_be_asked = false;
    };
    void ask_polkit(const Subject& who, Action action, const Answer& answer);

    bus::Callers callers_;
    Admission& admission_;
    std::unique_ptr<sdbus::IProxy> polkit_;
};

}  // namespace gpuprobe::inline service
