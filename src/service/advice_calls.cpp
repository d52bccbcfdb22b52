// SPDX-License-Identifier: Apache-2.0
#include "service/advice_calls.h"

#include <memory>

#include "wire/record.h"

namespace gpuprobe::inline service {

template <class Reply, class Act>
void AdviceCalls::with_leave(const Requester& who, Action action, Reply reply, Act act) {
    // A callback is copied: the reply, which can't be, is shared.
    const auto pending = std::make_shared<Reply>(std::move(reply));
    access_.authority.ask(who, action, [this, who, pending, act](const Status& may) {
        if (!may)
            return pending->fail(may.error());
        for_caller(access_, who.sender, std::move(*pending),
                   [this, act](const Caller& caller, Reply& answer) {
                       const auto allowed = context_.calls.take(caller.uid);
                       if (allowed)
                           act(caller.uid, answer);
                       else
                           answer.fail(allowed.error());
                   });
    });
}

void AdviceCalls::set_override(const Requester& who,
                               const std::string& consumer,
                               Value rule,
                               bus::Reply<> reply) {
    with_leave(who, Action::SetOverride, std::move(reply),
               [this, consumer, rule = std::move(rule)](uid_t uid, bus::Reply<>& answer) {
                   const auto set = context_.engine.set_override(consumer, rule, uid);
                   if (set)
                       answer.send();
                   else
                       answer.fail(set.error());
               });
}

void AdviceCalls::clear_override(const Requester& who,
                                 const std::string& consumer,
                                 bus::Reply<bool> reply) {
    with_leave(who, Action::SetOverride, std::move(reply),
               [this, consumer](uid_t, bus::Reply<bool>& answer) {
                   const auto cleared = context_.engine.clear_override(consumer);
                   if (cleared)
                       answer.send(*cleared);
                   else
                       answer.fail(cleared.error());
               });
}

std::map<std::string, bus::Dictionary> AdviceCalls::overrides() const {
    std::map<std::string, bus::Dictionary> answer;
    for (const auto& [consumer, entry] : context_.engine.overrides())
        answer.emplace(bus::bus_text(consumer), bus::dictionary_of(entry));
    return answer;
}

std::vector<bus::Dictionary> AdviceCalls::quarantine() const {
    return bus::dictionaries_of(context_.engine.report().quarantine);
}

void AdviceCalls::clear_quarantine(const Requester& who,
                                   const Value& filter,
                                   bus::Reply<std::uint32_t> reply) {
    const auto meant = engine::quarantine_filter_from(filter);
    if (!meant)
        return reply.fail(meant.error());
    with_leave(who, Action::ClearQuarantine, std::move(reply),
               [this, meant = *meant](uid_t, bus::Reply<std::uint32_t>& answer) {
                   const auto cleared = context_.engine.clear_quarantine(meant);
                   if (!cleared)
                       return answer.fail(cleared.error());
                   context_.engine.catch_up();
                   answer.send(*cleared);
               });
}

void AdviceCalls::report_outcome(const Requester& who, Value outcome, bus::Reply<> reply) {
    for_caller(access_, who.sender, std::move(reply),
               [this, told = std::move(outcome)](const Caller& caller, bus::Reply<>& answer) {
                   auto done = context_.calls.take(caller.uid);
                   if (done)
                       done = context_.engine.report_outcome(told, caller.uid);
                   if (done)
                       answer.send();
                   else
                       answer.fail(done.error());
               });
}

}  // namespace gpuprobe::inline service
