// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "service/caller_access.h"
#include "service/gpu_object.h"

namespace gpuprobe::inline service {

/// The calls that change what the daemon keeps. Setting an override and lifting a quarantine need
/// permission; everybody may report outcomes, which then count for that user.
class AdviceCalls {
public:
    AdviceCalls(const ServiceContext& context, const CallerAccess& access)
        : context_{context}, access_{access} {}

    void set_override(const Requester& who,
                      const std::string& consumer,
                      Value rule,
                      bus::Reply<> reply);
    /// Replies whether there was one.
    void clear_override(const Requester& who, const std::string& consumer, bus::Reply<bool> reply);
    /// Consumer → Rule, SetAtUsec, SetByUid.
    [[nodiscard]] std::map<std::string, bus::Dictionary> overrides() const;
    void report_outcome(const Requester& who, Value outcome, bus::Reply<> reply);

    /// The report's records, with keys as D-Bus spells them.
    [[nodiscard]] std::vector<bus::Dictionary> quarantine() const;
    /// Replies how many were held back and are asked again.
    void clear_quarantine(const Requester& who,
                          const Value& filter,
                          bus::Reply<std::uint32_t> reply);

private:
    /// Calls `act` with the caller's uid if the caller may do that. Each such call writes to the
    /// disk, so the number of calls is limited for permitted callers too.
    template <class Reply, class Act>
    void with_leave(const Requester& who, Action action, Reply reply, Act act);

    const ServiceContext& context_;
    const CallerAccess& access_;
};

}  // namespace gpuprobe::inline service
