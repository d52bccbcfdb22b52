// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "service/authority.h"
#include "service/report_views.h"
#include "service/turns.h"
#include "wire/callers.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {

/// Who calls on one connection, what they may see and what they may do.
struct CallerAccess {
    bus::Callers& callers;
    ReportViews& views;
    Authority& authority;
    Turns& turns;
};

inline Caller caller_from(const bus::Credentials& credentials) {
    return {.uid = credentials.uid, .groups = credentials.groups};
}

/// An exception from `use` becomes an error reply.
template <class... Results, class Use>
void serve_caller(const bus::Credentials& credentials, bus::Reply<Results...>& reply, Use& use) {
    try {
        use(caller_from(credentials), reply);
    } catch (const std::exception& problem) {
        reply.fail(Error{ErrorCode::Internal, problem.what()});
    }
}

/// A call that is answered later.
template <class Use, class... Results>
struct HeldCall {
    HeldCall(bus::Reply<Results...> given, Use what)
        : reply{std::move(given)}, use{std::move(what)} {}
    bus::Reply<Results...> reply;
    Use use;
};

template <class Held>
void wait_for_turn(Turns& turns,
                   const bus::Credentials& credentials,
                   const std::shared_ptr<Held>& held) {
    turns.wait(credentials.uid,
               [credentials, held] { serve_caller(credentials, held->reply, held->use); });
}

/// Finds out who `sender` is and then runs `use(caller, reply)`, at once if the sender is known
/// from an earlier call and no other call waits. An exception from `use` becomes an error reply.
template <class... Results, class Use>
void for_caller(const CallerAccess& access,
                const std::string& sender,
                bus::Reply<Results...> reply,
                Use use) {
    const auto* known = access.callers.known(sender);
    if (known && access.turns.is_free())
        return serve_caller(*known, reply, use);
    const auto held = std::make_shared<HeldCall<Use, Results...>>(std::move(reply), std::move(use));
    if (known)
        return wait_for_turn(access.turns, *known, held);
    access.callers.credentials_of(
        sender, [&turns = access.turns, held](const Result<bus::Credentials>& credentials) {
            if (!credentials)
                held->reply.fail(credentials.error());
            else if (turns.is_free())
                serve_caller(*credentials, held->reply, held->use);
            else
                wait_for_turn(turns, *credentials, held);
        });
}

}  // namespace gpuprobe::inline service
