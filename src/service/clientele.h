// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "bus/callers.h"
#include "bus/reply.h"
#include "service/audience.h"
#include "service/authority.h"

namespace gpuprobe {

/// Who calls on one connection, what they may see and what they may do.
struct Clientele {
    bus::Callers& callers;
    Audience& audience;
    Authority& authority;
};

inline Caller caller_from(const bus::Credentials& credentials) {
    return {.uid = credentials.uid, .groups = credentials.groups};
}

/// Finds out who `sender` is and then runs `use(caller, reply)`: at once for one who called before.
/// Whatever `use` throws becomes the answer.
template <class... Results, class Use>
void for_caller(const Clientele& clientele,
                const std::string& sender,
                bus::Reply<Results...> reply,
                Use use) {
    const auto pending = std::make_shared<bus::Reply<Results...>>(std::move(reply));
    clientele.callers.credentials_of(
        sender, [pending, use = std::move(use)](const Result<bus::Credentials>& credentials) {
            if (!credentials)
                return pending->fail(credentials.error());
            try {
                use(caller_from(*credentials), *pending);
            } catch (const std::exception& problem) {
                pending->fail(Error{ErrorCode::Internal, problem.what()});
            }
        });
}

}  // namespace gpuprobe
