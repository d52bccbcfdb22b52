// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "calls/methods.h"
#include "engine/engine.h"
#include "service/admission.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

/// A bus caller who requests an action that needs permission.
struct Requester {
    std::string sender = {};    ///< unique name of the caller on the bus
    bool may_be_asked = false;  ///< whether the call allows polkit to ask for a password
};

/// A caller on the daemon's own socket who requests an action that needs permission.
struct SocketRequester {
    bus::Credentials credentials = {};
    /// A pidfd of the process that connected. polkit's decision counts only while that process
    /// lives, because process ids are reused. Null before Linux 6.5, which introduced SO_PEERPIDFD.
    std::shared_ptr<const UniqueFd> process = {};  // shared, to stay open until polkit answers
    bool may_be_asked = false;                     ///< as in Requester
};

/// Decides whether a caller may do something. Root and the daemon's own user have all permissions.
/// For all other callers polkit decides. polkit identifies bus callers by their bus name, because
/// process ids are reused. Workers may also run as the daemon's user, so a process that runs under
/// more system-call filters than the daemon is treated as a worker, and isn't trusted. A worker
/// cannot evade this check, because filters can't be removed.
///
/// Waiting for polkit does not block other calls. If polkit is absent, gives a malformed answer or
/// does not answer in time, permission is refused.
/// Source: polkit, org.freedesktop.PolicyKit1.Authority.CheckAuthorization.
class Authority {
public:
    static constexpr Duration kPatience = std::chrono::seconds{5};
    /// The timeout if a person may have to enter a password.
    static constexpr Duration kPatienceWithPeople = std::chrono::minutes{2};

    /// All arguments must outlive this object.
    Authority(sdbus::IConnection& connection, bus::Callers& callers, Admission& admission);
    ~Authority();

    /// Calls `answer` once, possibly before this function returns. Errors that are passed to
    /// `answer`: NotAuthorized, TooManyRequests. If this object is destroyed first, `answer` is
    /// never called.
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
    /// The answer if there is no bus, and therefore no polkit.
    static Status refused(Action action);

private:
    using Answer = std::function<void(const Status&)>;
    /// A polkit subject, and the uid that the check is charged to.
    struct Subject {
        std::string kind = {};
        /// members that identify the subject among subjects of this kind
        bus::Dictionary details = {};
        uid_t uid = 0;
        bool may_be_asked = false;
    };
    void ask_polkit(const Subject& who, Action action, const Answer& answer);

    bus::Callers& callers_;
    Admission& admission_;
    std::unique_ptr<sdbus::IProxy> polkit_;
};

}  // namespace gpuprobe::inline service
