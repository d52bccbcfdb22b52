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

/// The credentials of a process, as the bus recorded them when it connected. They may have changed
/// since.
struct Credentials {
    uid_t uid = 0;
    std::optional<pid_t> pid = {};
    /// Includes the primary group; nullopt if the bus or the kernel does not report groups.
    std::optional<std::vector<std::uint32_t>> groups = {};
};

/// Looks up the user behind a name on the bus. Queries to the bus are asynchronous, because waiting
/// would delay all other calls.
///
/// The result for a unique name stays valid as long as the bus runs: the bus does not reuse names,
/// and it records credentials when a process connects. The last kMaxKnown callers are therefore
/// cached. Source: D-Bus specification, "Unique Connection Name" and GetConnectionCredentials.
class Callers {
public:
    static constexpr std::size_t kMaxKnown = 1024;
    static constexpr std::size_t kMaxKnownGroups = 1024;  ///< callers in more groups are not cached

    explicit Callers(sdbus::IConnection& connection);
    ~Callers();

    /// The cached credentials of a sender; nullptr if credentials_of() must query the bus. Valid
    /// until the next call of any of these functions.
    [[nodiscard]] const Credentials* known(const std::string& sender);
    /// Number of calls from a sender that wait for the bus.
    [[nodiscard]] std::size_t waiting(const std::string& sender) const;
    [[nodiscard]] std::size_t waiting() const;  ///< of all senders
    using Answer = std::function<void(const Result<Credentials>&)>;
    /// Queries the credentials and calls `answer` exactly once. The call happens later, except if
    /// the bus cannot be queried at all. Several requests for one name share a query. Errors,
    /// passed to `answer`: NotAuthorized if the bus does not know the name (the caller has left);
    /// Unavailable if the bus cannot be queried. If this object is destroyed first, `answer` is
    /// never called.
    void credentials_of(const std::string& sender, Answer answer);
    /// The same for the user id only.
    void uid_of(const std::string& sender, std::function<void(Result<uid_t>)> answer);

private:
    struct Known {
        std::string sender = {};
        Credentials credentials = {};
    };
    void keep(const std::string& sender, const Credentials& credentials);

    void answer_all(const std::string& sender, const Result<Credentials>& credentials);

    std::list<Known> known_ = {};  ///< most recent caller first
    /// positions in known_
    std::unordered_map<std::string_view, std::list<Known>::iterator> place_ = {};
    std::map<std::string, std::vector<Answer>> asked_ = {};  ///< waiting requests, by sender
    std::unique_ptr<sdbus::IProxy> bus_;
};

}  // namespace gpuprobe::bus
