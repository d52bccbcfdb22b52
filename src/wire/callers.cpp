// SPDX-License-Identifier: Apache-2.0
#include "wire/callers.h"

#include <utility>

#include "wire/errors.h"

namespace gpuprobe::bus {
namespace {

constexpr const char* kDriver = "org.freedesktop.DBus";

/// Reads a reply of GetConnectionCredentials. Errors: NotAuthorized if it has no user. A list of
/// groups with an unexpected type is ignored.
Result<Credentials> credentials_from(const Dictionary& facts) try {
    const auto uid = facts.find("UnixUserID");
    if (uid == facts.end())
        return Error{ErrorCode::NotAuthorized, "the bus does not know the caller's user"};
    Credentials credentials{.uid = uid->second.get<std::uint32_t>()};
    if (const auto pid = facts.find("ProcessID");
        pid != facts.end() && signature_in(pid->second) == "u")
        credentials.pid = static_cast<pid_t>(pid->second.get<std::uint32_t>());
    const auto groups = facts.find("UnixGroupIDs");
    if (groups != facts.end() && signature_in(groups->second) == "au")
        credentials.groups = groups->second.get<std::vector<std::uint32_t>>();
    return credentials;
} catch (const sdbus::Error& problem) {
    return error_from(problem);
}

}  // namespace

Callers::Callers(sdbus::IConnection& connection)
    : bus_{make_proxy(connection, kDriver, "/org/freedesktop/DBus")} {
#ifndef GPUPROBE_SDBUS_2
    bus_->finishRegistration();
#endif
}

Callers::~Callers() = default;

const Credentials* Callers::known(const std::string& sender) {
    const auto known = place_.find(sender);
    if (known == place_.end())
        return nullptr;
    // Most recently used first: keep() drops the last one.
    known_.splice(known_.begin(), known_, known->second);
    return &known->second->credentials;
}

std::size_t Callers::waiting(const std::string& sender) const {
    const auto asked = asked_.find(sender);
    return asked == asked_.end() ? 0 : asked->second.size();
}

std::size_t Callers::waiting() const {
    std::size_t count = 0;
    for (const auto& [sender, calls] : asked_)
        count += calls.size();
    return count;
}

void Callers::keep(const std::string& sender, const Credentials& credentials) {
    // A user in a great many groups would make the cache large.
    const bool is_large = credentials.groups && credentials.groups->size() > kMaxKnownGroups;
    if (is_large || known(sender))
        return;
    // Drop the caller that has been idle for longest.
    if (known_.size() >= kMaxKnown) {
        place_.erase(known_.back().sender);
        known_.pop_back();
    }
    known_.push_front({.sender = sender, .credentials = credentials});
    place_.emplace(known_.front().sender, known_.begin());
}

void Callers::credentials_of(const std::string& sender, Answer answer) {
    auto& waiting = asked_[sender];
    waiting.push_back(std::move(answer));
    // A query for this sender is already running.
    if (waiting.size() > 1)
        return;
    // The proxy, and with it this handler, is destroyed together with this object.
    const auto reply = [this, sender](ReplyError problem, const Dictionary& facts) {
        const auto credentials =
            problem ? Error{ErrorCode::NotAuthorized, "the bus does not know the caller"}
                    : credentials_from(facts);
        if (credentials)
            keep(sender, *credentials);
        answer_all(sender, credentials);
    };
    const bool asked = attempt([&] {
        bus_->callMethodAsync("GetConnectionCredentials")
            .onInterface(kDriver)
            .withArguments(sender)
            .uponReplyInvoke(reply);
    });
    if (!asked)
        answer_all(sender, Error{ErrorCode::Unavailable, "the bus does not answer"});
}

void Callers::answer_all(const std::string& sender, const Result<Credentials>& credentials) {
    // Extract first: an answer may start a new query for the same sender.
    const auto waiting = asked_.extract(sender);
    for (const auto& answer : waiting.mapped())
        (void)attempt([&] { answer(credentials); });
}

void Callers::uid_of(const std::string& sender, std::function<void(Result<uid_t>)> answer) {
    const auto reply = [answer](ReplyError problem, std::uint32_t uid) {
        if (problem)
            answer(Error{ErrorCode::NotAuthorized, "the bus does not know the caller"});
        else
            answer(static_cast<uid_t>(uid));
    };
    const bool asked = attempt([&] {
        bus_->callMethodAsync("GetConnectionUnixUser")
            .onInterface(kDriver)
            .withArguments(sender)
            .uponReplyInvoke(reply);
    });
    if (!asked)
        answer(Error{ErrorCode::Unavailable, "the bus does not answer"});
}

}  // namespace gpuprobe::bus
