// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <gpuprobe/gpuprobe.h>

#include "base/files.h"
#include "cli/client.h"

namespace gpuprobe::inline cli {

/// A client that calls the daemon through the daemon's socket.
class SocketClient final : public Client {
public:
    /// Connects to the socket at `path`. Without a path, connects to the socket of the daemon that
    /// was installed with this program. Errors: Unavailable.
    static Result<std::unique_ptr<Client>> open(const std::optional<std::string>& path);

    /// If the call is refused for lack of a permission, and the user is at a terminal, repeats the
    /// call and lets polkit ask for a password.
    [[nodiscard]] Result<MethodAnswer> call(const MethodCall& call,
                                            const HearAnswer& heard_before) override;
    Status watch(const std::function<void()>& changed) override;
    Status capture(const std::string& folder, engine::Redaction* mask) override;
    [[nodiscard]] bool is_daemon() const override { return true; }

private:
    Result<MethodAnswer> answer_to(const MethodCall& call, HearAnswer heard_before);

    using Handle = CHandle<::gpuprobe_client, ::gpuprobe_close>;
    explicit SocketClient(Handle client) : client_{std::move(client)} {}

    Handle client_;
};

}  // namespace gpuprobe::inline cli
