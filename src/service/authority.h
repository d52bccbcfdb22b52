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

/// The polkit action id, for example "org.gpuprobe.allow-wake".
std::string action_id(Action action);

/// A bus caller who requests an action that needs permission.
struct Requester {
    std::string sender = {};    ///< unique name on the bus
    bool may_be_asked = false;  ///< the call allows polkit to ask for a password
};

/// A caller on the daemon's own socket who requests such an action.
struct SocketRequester {
    bus::Credentials credentials = {};
    /// A pidfd of the process that connected. polkit's decision counts only while that process
    /// lives, because process ids are reused. Null before Linux 6.5, which introduced this.
    std::shared_ptr<const UniqueFd> process = {};  // shared, to stay open until polkit answers
};

/// Decides whether a caller may do something. Root and the daemon's own user always may. For all
/// others polkit decides. It identifies bus callers by their bus name, because process ids are
/// reused. Workers may run as the daemon's user as well: a process with more system-call filters
/// than the daemon counts as a worker, because filters can't be removed, and it is not trusted.
///
/// Waiting for polkit does not block other calls. If polkit is absent, gives a malformed answer or
/// does not answer in time, permission is refused.
/// Source: polkit, org.freedesktop.PolicyKit1.Authority.CheckAuthorization.
class Authority {
public:
    static constexpr Duration kPatience = std::chrono::seconds{5};
    /// Timeout if a person may have to enter a password.
    static constexpr Duration kPatienceWithPeople = std::chrono::minutes{2};

    /// Both must outlive this object.
    Authority(sdbus::IConnection& connection, Admission& admission);
    ~Authority();

    /// Calls `answer` once, possibly before this returns. Errors passed to it: NotAuthorized,
    /// TooManyRequests. If this object is destroyed first, `answer` is never called.
    void ask(const Requester& who, Action action, std::function<void(const Status&)> answer);
    void ask(const SocketRequester& who, Action action, std::function<void(const Status&)> answer);
    /// Checks the actions one after the other; the answer is the first refusal, or Done if all are
    /// permitted.
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
    /// Whether the caller is root or the daemon's own user, who don't need polkit's permission.
    static bool is_trusted(const bus::Credentials& caller);
    /// The answer without a bus, and therefore without polkit.
    static Status refused(Action action);

private:
    using Answer = std::function<void(const Status&)>;
    /// A polkit subject, and the uid that the check is charged to.
    struct Subject {
        std::string kind = {};
        bus::Dictionary details = {};  ///< identify the subject among others of this kind
        uid_t uid = 0;
        bool may_be_asked = false;
    };
    void ask_polkit(const Subject& who, Action action, const Answer& answer);

    bus::Callers callers_;
    Admission& admission_;
    std::unique_ptr<sdbus::IProxy> polkit_;
};

}  // namespace gpuprobe::inline service
