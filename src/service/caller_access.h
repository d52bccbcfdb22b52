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
#include "report/access.h"
#include "service/admission.h"
#include "service/fair_queue.h"
#include "wire/bus.h"
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

    /// Both arguments must outlive this object.
    Authority(sdbus::IConnection& connection, Admission& admission);
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

    bus::Callers callers_;
    Admission& admission_;
    std::unique_ptr<sdbus::IProxy> polkit_;
};

inline Caller caller_from(const bus::Credentials& credentials) {
    return {.uid = credentials.uid, .groups = credentials.groups};
}

/// Identifies the callers on one connection, and queues their calls until it is their turn.
class CallerAccess {
public:
    /// All arguments must outlive this object.
    CallerAccess(bus::Callers& callers,
                 FairQueue& queue,
                 Admission& admission,
                 const bus::Connection& connection)
        : callers_{callers}, queue_{queue}, admission_{admission}, connection_{connection} {}

    /// `share`: the call's claim on Admission::memory; null for a small call.
    using Use = std::function<void(const bus::Credentials& caller, const SharedPool::Claim& share)>;
    /// Identifies the sender of `reply`'s call and then runs `use`: immediately if the sender is
    /// known from an earlier call and no other call waits. An exception from `use` becomes an error
    /// reply. A large call is charged to Admission::memory as long as `use` keeps its share.
    void identify(const std::string& sender,
                  const std::shared_ptr<bus::BusReply>& reply,
                  const Use& use);

private:
    /// A call that is answered later.
    struct Held {
        std::shared_ptr<bus::BusReply> reply = {};
        Use use = {};
        std::size_t size = 0;
        SharedPool::Claim share = {};  ///< share of Admission::memory
    };
    void take_turn(const bus::Credentials& credentials, const std::shared_ptr<Held>& held);

    bus::Callers& callers_;
    FairQueue& queue_;
    Admission& admission_;
    const bus::Connection& connection_;
};

}  // namespace gpuprobe::inline service
