// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "wire/sdbus.h"

namespace gpuprobe::bus {

/// What the bus recorded of a process when it connected. The process may have changed since.
struct Credentials {
    uid_t uid = 0;
    std::optional<pid_t> pid = {};
    /// The primary one too; nullopt where the bus or the kernel does not tell.
    std::optional<std::vector<std::uint32_t>> groups = {};
};

/// Finds out which user is behind a name on the bus. It asks the bus asynchronously, because
/// waiting would hold up all other calls.
///
/// The answer for a unique name stays true as long as the bus lives: names are not reused, and
/// credentials are those of the moment of connecting. So the kMaxKnown last callers are remembered.
/// Source: D-Bus specification, "Unique Connection Name" and GetConnectionCredentials.
class Callers {
public:
    static constexpr std::size_t kMaxKnown = 1024;
    static constexpr std::size_t kMaxKnownGroups = 1024;  ///< with more one is asked about anew

    explicit Callers(sdbus::IConnection& connection);
    ~Callers();

    /// nullptr when credentials_of() has to ask. Valid until the next call of any function here.
    [[nodiscard]] const Credentials* known(const std::string& sender);
    /// How many of its calls wait for the bus.
    [[nodiscard]] std::size_t waiting(const std::string& sender) const;
    [[nodiscard]] std::size_t waiting() const;  ///< of all senders
    using Answer = std::function<void(const Result<Credentials>&)>;
    /// Calls `answer` once, never from within unless the bus cannot be asked. The bus is asked once
    /// for all who wait for the same name.
    /// Errors, in the callback: NotAuthorized when the bus does not say (the caller left). After
    /// this object is gone, the callback is destroyed unused.
    void credentials_of(const std::string& sender, Answer answer);
    /// The same for the user alone; never calls `answer` from within.
    void uid_of(const std::string& sender, std::function<void(Result<uid_t>)> answer);

private:
    struct Known {
        std::string sender = {};
        Credentials credentials = {};
    };
    void keep(const std::string& sender, const Credentials& credentials);

    void answer_all(const std::string& sender, const Result<Credentials>& credentials);

    std::list<Known> known_ = {};  ///< who called last first
    std::unordered_map<std::string_view, std::list<Known>::iterator> place_ = {};  ///< in known_
    std::map<std::string, std::vector<Answer>> asked_ = {};  ///< who waits for the bus, by sender
    std::unique_ptr<sdbus::IProxy> bus_;
};

}  // namespace gpuprobe::bus
