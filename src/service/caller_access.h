// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <list>
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
#include "wire/connection.h"
#include "wire/reply.h"
#include "wire/sdbus.h"

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

/// The parts of the service that identify the callers on one connection and decide what they may
/// see and do.
struct CallerAccess {
    bus::Callers& callers;
    ReportViews& views;
    Authority& authority;
    FairQueue& queue;
    Admission& admission;
    bus::Connection& connection;
};

inline Caller caller_from(const bus::Credentials& credentials) {
    return {.uid = credentials.uid, .groups = credentials.groups};
}

/// Runs `use(caller, reply)`. An exception from it becomes an error reply.
template <class... Results, class Use>
void serve_caller(const bus::Credentials& credentials, bus::Reply<Results...>& reply, Use& use) {
    try {
        use(caller_from(credentials), reply);
    } catch (const std::exception& problem) {
        reply.fail(Error{ErrorCode::Internal, problem.what()});
    }
}

/// A call that is answered later, and its share of Admission::memory.
template <class Use, class... Results>
struct HeldCall {
    HeldCall(bus::Reply<Results...> given, Use what)
        : reply{std::move(given)}, use{std::move(what)} {}
    /// Charges `size` bytes to the payer, instead of any earlier claim. Errors: TooManyRequests.
    Status claim(Admission& admission, const Payer& payer, std::size_t size) {
        share = {};
        share = TRY(admission.memory.claim(payer, size, kTooMuchWaits));
        return Done{};
    }
    bus::Reply<Results...> reply;
    Use use;
    SharedPool::Claim share = {};
};

/// The payer for calls whose sender is not identified yet: all such senders together.
inline constexpr Payer kUnknownPayer{.id = static_cast<uid_t>(-1)};
/// Calls up to this size are not charged before the sender is known; only their number is limited.
inline constexpr Bytes kSmallCall = kib(4);

/// Charges a held call to its payer and queues it.
template <class Held>
void wait_for_turn(const CallerAccess& access,
                   const bus::Credentials& credentials,
                   const std::shared_ptr<Held>& held,
                   std::size_t size) {
    const auto payer = access.admission.payers.of(credentials.uid);
    if (const auto claimed = held->claim(access.admission, payer, size); !claimed)
        return held->reply.fail(claimed.error());
    access.queue.wait(payer,
                      [credentials, held] { serve_caller(credentials, held->reply, held->use); });
}

/// Identifies `sender` and then runs `use(caller, reply)`: immediately if the sender is known from
/// an earlier call and no other call waits. An exception from `use` becomes an error reply.
template <class... Results, class Use>
void for_caller(const CallerAccess& access,
                const std::string& sender,
                bus::Reply<Results...> reply,
                Use use) {
    const auto* known = access.callers.known(sender);
    if (known && access.queue.is_free())
        return serve_caller(*known, reply, use);
    const auto held = std::make_shared<HeldCall<Use, Results...>>(std::move(reply), std::move(use));
    const auto size = access.connection.call_size();
    if (known)
        return wait_for_turn(access, *known, held, size);
    if (size > kSmallCall.count)
        if (const auto claimed = held->claim(access.admission, kUnknownPayer, size); !claimed)
            return held->reply.fail(claimed.error());
    access.callers.credentials_of(
        sender, [&access, held, size](const Result<bus::Credentials>& credentials) {
            if (!credentials)
                held->reply.fail(credentials.error());
            else if (access.queue.is_free())
                serve_caller(*credentials, held->reply, held->use);
            else
                wait_for_turn(access, *credentials, held, size);
        });
}

}  // namespace gpuprobe::inline service
