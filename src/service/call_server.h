// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/event_loop.h"
#include "base/files.h"
#include "calls/methods.h"
#include "engine/engine.h"
#include "report/access.h"
#include "service/admission.h"
#include "wire/bus.h"

namespace gpuprobe::inline service {

/// The report as one class of callers may see it. A class consists of all callers who may open the
/// same device nodes.
struct View {
    std::string access = {};  ///< class of the callers, from access_class()
    const Report* report = nullptr;
};

/// Cached views of the engine's report. Most callers share one view. A view is created on first
/// use.
class ReportViews {
public:
    static constexpr std::size_t kMaxViews = 8;  ///< cached views, without the prober's own view

    /// `engine` must outlive this object. `captured`: as in MachineView.
    explicit ReportViews(const engine::Engine& engine, std::optional<Surroundings> captured = {})
        : engine_{engine}, captured_{std::move(captured)} {}

    /// The view for a caller. Results of the following functions are valid until the next call of
    /// any of them for another class.
    [[nodiscard]] View report_for(const Caller& caller);
    /// The view for a caller, as one line of JSON.
    [[nodiscard]] const std::string& json_for(const Caller& caller);
    /// The doctor's findings for the view, as shown to root or to other users.
    [[nodiscard]] const std::vector<Finding>& findings_for(const Caller& caller);
    [[nodiscard]] const std::optional<Surroundings>& captured() const { return captured_; }
    /// Frees the memory of all views, which are created again when they are needed.
    void forget() { seen_.clear(); }

private:
    struct Seen {
        std::string access = {};
        Report report = {};     ///< unused for the class "", which sees the engine's report
        std::string json = {};  ///< the report as JSON; empty until first used
        /// the findings for other users, and for root
        std::optional<std::vector<Finding>> findings[2] = {};
    };
    Seen& seen_by(const std::string& access, const Caller& caller);
    const Report& report_of(const Seen& seen) const;
    void forget_older();

    const engine::Engine& engine_;
    std::optional<Surroundings> captured_;
    std::uint64_t generation_ = 0;
    std::optional<WallTime> created_ = {};
    std::list<Seen> seen_ = {};  ///< views of the current report, most recently used first
};

/// Encoded bytes to send, possibly to several clients.
struct Text {
    std::string bytes = {};
    /// Whether the memory is counted elsewhere, because the bytes are a cached answer.
    mutable bool is_kept = false;
};
using SharedText = std::shared_ptr<const Text>;  // an answer may be cached and in transmission

/// A cache of encoded answers, for all interfaces. The key of an entry, called the question,
/// consists of the class of callers who share the answer and of the call as its interface received
/// it.
class AnswerCache {
public:
    static constexpr Bytes kMaxBytes = mib(4);     ///< size of all questions and answers
    static constexpr Bytes kMaxAnswer = mib(2);    ///< larger answers aren't cached
    static constexpr Bytes kMaxAtRest = kib(512);  ///< limit after release_memory()
    static constexpr Bytes kMaxQuestion = kib(4);  ///< answers to longer questions aren't cached
    static constexpr std::size_t kOverhead = 768;  ///< additional bytes for each entry

    /// An answer in the form in which the socket or D-Bus sends it.
    using Answer = std::variant<SharedText, std::shared_ptr<const bus::MessageBody>>;

    /// The cached answer; null if there is no answer, or if the answer is no longer valid at `now`.
    [[nodiscard]] const Answer* find(const std::string& question, MonotonicTime now);
    /// Adds an answer, unless it is too large. If necessary, drops the least recently used answers.
    /// `until`: the time at which the answer becomes invalid.
    void keep(std::string question,
              Answer answer,
              std::size_t bytes,
              std::optional<MonotonicTime> until = {});
    /// Drops the least recently used answers until all questions and answers fit into `limit`.
    void shrink(Bytes limit);
    void clear();
    /// The number of bytes of answers that were dropped since the last call of this function while
    /// a client on the socket was still receiving them.
    std::size_t take_dropped() { return std::exchange(dropped_, 0); }
    [[nodiscard]] std::size_t dropped() const { return dropped_; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string question = {};
        Answer answer = {};
        std::size_t bytes = 0;  ///< size of the question and the answer
        std::optional<MonotonicTime> until = {};
    };
    using Entries = std::list<Entry>;  ///< most recently used first
    void drop(Entries::iterator entry);

    Entries entries_ = {};
    std::unordered_map<std::string_view, Entries::iterator> places_ = {};
    std::size_t bytes_ = 0;
    std::size_t dropped_ = 0;
};

/// A call that an interface has received, and the functions with which the interface answers the
/// call.
struct ServedCall {
    MethodCall call = {};
    /// The call as the interface received it, for the key of the cache; if empty, the answer is not
    /// cached.
    std::string question = {};
    /// Checks permissions, immediately or later. If this function is unset, the caller may do
    /// everything.
    std::function<void(const std::vector<Action>& needs, std::function<void(const Status&)> done)>
        ask = {};
    /// Whether the caller is still waiting for the answer.
    std::function<bool()> is_wanted = {};
    /// Sends an answer that was cached for an equal call. If this function is unset, no cached
    /// answer is used.
    std::function<void(const AnswerCache::Answer& kept)> send_kept = {};
    /// Sends an answer. If `key` isn't empty, the encoded answer may be cached with
    /// CallServer::keep(). If this function throws an exception, for example because the answer
    /// cannot be encoded, it is called again with the error Internal.
    std::function<void(const MethodAnswer& answer, const std::string& key)> heard = {};

    MethodTraits traits = {};
    SharedPool::Claim memory = {};  ///< the call's share of Admission::memory
    SharedPool::Claim share = {};   ///< a share of the running probes or readings of memory
};

/// Handles the calls on all interfaces: checks permission, charges the cost, refreshes facts, and
/// answers. All interfaces also share the server's cache and its views of the report.
class CallServer {
public:
    /// All references must outlive this object. `captured`: as in MachineView.
    CallServer(EventLoop& loop,
               engine::Engine& engine,
               const FileSystem& files,
               Admission& admission,
               std::optional<Surroundings> captured = {});
    ~CallServer();

    [[nodiscard]] engine::Engine& engine() const { return engine_; }
    [[nodiscard]] const FileSystem& files() const { return files_; }
    [[nodiscard]] Admission& admission() const { return admission_; }
    [[nodiscard]] ReportViews& views() { return views_; }
    [[nodiscard]] AnswerCache& answers() { return answers_; }

    /// Starts probes that had to wait, and drops data that belongs to an older report. Call this
    /// function first for each call that an interface receives. Returns a number that changes with
    /// the report.
    std::uint64_t refresh();
    /// The cached answer for a caller; null if there is no such answer. `access`: the caller's
    /// class.
    [[nodiscard]] const AnswerCache::Answer* known(const std::string& access,
                                                   const Caller& caller,
                                                   std::string_view question);
    [[nodiscard]] const AnswerCache::Answer* known(const Caller& caller,
                                                   std::string_view question) {
        return known(views_.report_for(caller).access, caller, question);
    }
    /// Keeps an encoded answer under the key that ServedCall::heard was called with.
    void keep(const std::string& key, AnswerCache::Answer answer, std::size_t bytes);
    /// Sends the cached answer to an equal call, or runs the call. The answers are sent during this
    /// function or later.
    void serve(const std::shared_ptr<ServedCall>& served);
    /// Must be called when the report or the data on which decisions are based has changed.
    void update();
    /// Frees memory that is rarely needed again soon. Do not call this function while a request is
    /// being answered.
    void release_memory();
    /// Sets a callback that runs after each answer that did not come from the cache.
    void on_computed(std::function<void()> computed) { computed_ = std::move(computed); }

private:
    void run(const std::shared_ptr<ServedCall>& served);
    void answer_now(const std::shared_ptr<ServedCall>& served);
    [[nodiscard]] Status take_costs(ServedCall& served);
    [[nodiscard]] std::string key_of(const ServedCall& served, const Caller& caller);

    EventLoop& loop_;
    engine::Engine& engine_;
    const FileSystem& files_;
    Admission& admission_;
    ReportViews views_;
    AnswerCache answers_ = {};
    std::uint64_t generation_ = 0;  ///< generation of the report on which answers_ are based
    std::optional<WallTime> created_ = {};  ///< creation time of the same report
    std::uint64_t age_ = 1;                 ///< incremented with each new report
    bool keeps_personal_ = false;           ///< whether answers for a single caller are cached
    std::function<void()> computed_ = [] {};
    /// Callbacks hold a weak pointer to this member, because the engine may answer after this
    /// object was destroyed.
    std::shared_ptr<CallServer*> self_;
};

}  // namespace gpuprobe::inline service
