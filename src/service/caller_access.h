// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "service/authority.h"
#include "service/report_views.h"
#include "wire/callers.h"
#include "wire/reply.h"

namespace gpuprobe {

/// Who calls on one connection, what they may see and what they may do.
struct CallerAccess {
    bus::Callers& callers;
    ReportViews& views;
    Authority& authority;
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

/// Finds out who `sender` is and then runs `use(caller, reply)`, at once if the sender is known
/// from an earlier call. An exception from `use` becomes an error reply.
template <class... Results, class Use>
void for_caller(const CallerAccess& access,
                const std::string& sender,
                bus::Reply<Results...> reply,
                Use use) {
    if (const auto* known = access.callers.known(sender))
        return serve_caller(*known, reply, use);
    const auto pending = std::make_shared<bus::Reply<Results...>>(std::move(reply));
    access.callers.credentials_of(sender, [pending, use = std::move(use)](
                                              const Result<bus::Credentials>& credentials) mutable {
        if (credentials)
            serve_caller(*credentials, *pending, use);
        else
            pending->fail(credentials.error());
    });
}

}  // namespace gpuprobe
