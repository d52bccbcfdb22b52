// SPDX-License-Identifier: Apache-2.0
#include "service/authority.h"

#include <map>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"

namespace gpuprobe::inline service {

namespace {

constexpr const char* kPolkit = "org.freedesktop.PolicyKit1";
constexpr const char* kPolkitPath = "/org/freedesktop/PolicyKit1/Authority";
constexpr const char* kPolkitInterface = "org.freedesktop.PolicyKit1.Authority";
/// A value of CheckAuthorizationFlags.
constexpr std::uint32_t kAllowUserInteraction = 1;

using Texts = std::map<std::string, std::string>;
using PolkitSubject = sdbus::Struct<std::string, bus::Dictionary>;
/// polkit's reply: is_authorized, is_challenge and details.
using PolkitVerdict = sdbus::Struct<bool, bool, Texts>;

/// The polkit action id, for example "org.gpuprobe.allow-wake".
std::string action_id(Action action) {
    return "org.gpuprobe." + std::string{name_of(action)};
}

Error refusal(Action action, const std::string& why) {
    return Error{ErrorCode::NotAuthorized, action_id(action) + ": " + why};
}

/// The number of system-call filters of a process; nullopt if the process does not exist or the
/// kernel does not report the number (before Linux 5.9). Source: proc(5), /proc/pid/status.
std::optional<int> filters_of(const std::string& process) {
    const auto status = RootedFiles{}.read("/proc/" + process + "/status", kib(16));
    const auto count = status ? value_of_line(*status, "Seccomp_filters") : std::nullopt;
    return count ? parse_number<int>(*count) : std::nullopt;
}

/// Whether the caller has the daemon's uid and isn't one of its workers.
bool is_own_user(const bus::Credentials& caller) {
    if (caller.uid != ::geteuid())
        return false;
    const auto own = filters_of("self");
    if (!own)
        return true;  // workers can't be recognized on this kernel
    const auto theirs = caller.pid ? filters_of(std::to_string(*caller.pid)) : std::nullopt;
    return theirs && *theirs <= *own;
}

/// Whether the process behind a pidfd has ended. Source: pidfd_open(2), "poll".
bool has_ended(int process) {
    pollfd end{.fd = process, .events = POLLIN, .revents = 0};
    return ::poll(&end, 1, 0) != 0;
}

/// The permission according to polkit's decision; any error becomes a refusal with the reason.
Status status_of(Action action, bus::ReplyError problem, const PolkitVerdict& verdict) {
    if (problem && problem->getName() == "org.freedesktop.DBus.Error.ServiceUnknown")
        return refusal(action, "only root may do this because polkit is not installed");
    if (problem)
        return refusal(action, "polkit did not answer: " + std::string{problem->getName()});
    if (std::get<0>(verdict))
        return Done{};
    return refusal(action, std::get<1>(verdict) ? "polkit needs to ask the user first"
                                                : "polkit denied permission");
}

}  // namespace

Authority::Authority(sdbus::IConnection& connection, bus::Callers& callers, Admission& admission)
    : callers_{callers},
      admission_{admission},
      polkit_{bus::make_proxy(connection, kPolkit, kPolkitPath)} {
#ifndef GPUPROBE_SDBUS_2
    polkit_->finishRegistration();
#endif
}

Authority::~Authority() = default;

void Authority::ask(const Requester& who,
                    Action action,
                    std::function<void(const Status&)> answer) {
    // Root and the daemon's own user don't need polkit; for all others polkit checks the bus name.
    const auto decide = [this, who, action, answer](const Result<bus::Credentials>& caller) {
        if (!caller)
            return answer(caller.error());
        if (is_trusted(*caller))
            return answer(Done{});
        ask_polkit({.kind = "system-bus-name",
                    .details = {{"name", sdbus::Variant{who.sender}}},
                    .uid = caller->uid,
                    .may_be_asked = who.may_be_asked},
                   action, answer);
    };
    if (const auto* known = callers_.known(who.sender))
        return decide(bus::Credentials{*known});
    callers_.credentials_of(who.sender, decide);
}

void Authority::ask(const SocketRequester& who,
                    Action action,
                    std::function<void(const Status&)> answer) {
    const auto& caller = who.credentials;
    if (is_trusted(caller))
        return answer(Done{});
    // Without a pidfd, the pid could belong to another process by the time polkit decides.
    if (!who.process || !caller.pid)
        return answer(refusal(action, "this kernel does not identify the calling process"));
    const auto checked = [process = who.process, action, answer](const Status& may) {
        answer(may && has_ended(process->get()) ? refusal(action, "the caller has ended") : may);
    };
    // With start time 0, polkit determines the process's start time itself.
    ask_polkit({.kind = "unix-process",
                .details = {{"pid", sdbus::Variant{static_cast<std::uint32_t>(*caller.pid)}},
                            {"start-time", sdbus::Variant{std::uint64_t{0}}},
                            {"uid", sdbus::Variant{static_cast<std::int32_t>(caller.uid)}}},
                .uid = caller.uid,
                .may_be_asked = who.may_be_asked},
               action, checked);
}

bool Authority::is_trusted(const bus::Credentials& caller) {
    return caller.uid == 0 || is_own_user(caller);
}

Status Authority::refused(Action action) {
    return refusal(action, "polkit cannot be reached without a bus");
}

void Authority::ask_polkit(const Subject& who, Action action, const Answer& answer) {
    const auto share = admission_.questions.claim(admission_.payers.of(who.uid), 1,
                                                  "too many polkit checks are pending");
    if (!share)
        return answer(share.error());
    const auto reply = [waiting = std::make_shared<SharedPool::Claim>(*share), action, answer](
                           bus::ReplyError problem, const PolkitVerdict& verdict) {
        waiting->reset();  // reset first, because ask_for_all() may start a check
        const auto status = status_of(action, std::move(problem), verdict);
        (void)bus::attempt([&] { answer(status); });
    };
    // Arguments: subject, action, details, flags, cancellation id.
    const PolkitSubject subject{who.kind, who.details};
    const bool asked = bus::attempt([&] {
        polkit_->callMethodAsync("CheckAuthorization")
            .onInterface(kPolkitInterface)
            .withTimeout(who.may_be_asked ? kPatienceWithPeople : kPatience)
            .withArguments(subject, action_id(action), Texts{},
                           who.may_be_asked ? kAllowUserInteraction : std::uint32_t{0},
                           std::string{})
            .uponReplyInvoke(reply);
    });
    if (!asked)
        answer(refusal(action, "the bus does not deliver the polkit check"));
}

}  // namespace gpuprobe::inline service
