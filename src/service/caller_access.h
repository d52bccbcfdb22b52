// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "service/admission.h"
#include "service/authority.h"
#include "service/fair_queue.h"
#include "service/report_views.h"
#include "wire/connection.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {

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
