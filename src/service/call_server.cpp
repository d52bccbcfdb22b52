// SPDX-License-Identifier: Apache-2.0
#include "service/call_server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/accounts.h"
#include "base/value.h"

namespace gpuprobe::inline service {

/// Drops views of an older report. Also compares the creation time, because a new report may have
/// the same generation: a change of free memory does not start a new generation.
void ReportViews::forget_older() {
    const auto& report = engine_.report();
    if (generation_ == report.generation && created_ == report.created)
        return;
    generation_ = report.generation;
    created_ = report.created;
    seen_.clear();
}

/// The cached view of the class `access`, created for `caller` if missing.
ReportViews::Seen& ReportViews::seen_by(const std::string& access, const Caller& caller) {
    forget_older();
    const auto known = std::ranges::find(seen_, access, &Seen::access);
    if (known != seen_.end()) {
        seen_.splice(seen_.begin(), seen_, known);
        return seen_.front();
    }
    if (seen_.size() > kMaxViews)  // drop the least recently used
        seen_.pop_back();
    seen_.push_front({.access = access});
    if (!access.empty())
        seen_.front().report = as_seen_by(engine_.report(), caller);
    return seen_.front();
}

/// Callers of the empty class may open the same nodes as the prober, so they get the report
/// unchanged.
const Report& ReportViews::report_of(const Seen& seen) const {
    return seen.access.empty() ? engine_.report() : seen.report;
}

View ReportViews::report_for(const Caller& caller) {
    auto access = access_class(engine_.report(), caller);
    if (access.empty())
        return {.report = &engine_.report()};
    const auto& seen = seen_by(access, caller);
    return {.access = std::move(access), .report = &seen.report};
}

const std::string& ReportViews::json_for(const Caller& caller) {
    const auto access = access_class(engine_.report(), caller);
    if (access.empty())
        return engine_.report_json();
    auto& seen = seen_by(access, caller);
    if (seen.json.empty())
        seen.json = json_line(to_value(seen.report));
    return seen.json;
}

const std::vector<Finding>& ReportViews::findings_for(const Caller& caller) {
    auto& seen = seen_by(access_class(engine_.report(), caller), caller);
    const bool is_root = caller.uid == kRoot;
    auto& findings = seen.findings[is_root ? 1 : 0];
    const auto& report = report_of(seen);
    // For a captured machine, the caller does not matter.
    if (!findings)
        findings = examine(report, report.source == ReportSource::Replay
                                       ? captured_.value_or(Surroundings{})
                                       : Surroundings{.is_root = is_root});
    return *findings;
}

const AnswerCache::Answer* AnswerCache::find(const std::string& question, MonotonicTime now) {
    const auto place = places_.find(question);
    if (place == places_.end())
        return nullptr;
    const auto entry = place->second;
    if (entry->until && *entry->until <= now) {
        drop(entry);
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return &entry->answer;
}

void AnswerCache::keep(std::string question,
                       Answer answer,
                       std::size_t bytes,
                       std::optional<MonotonicTime> until) {
    if (question.size() > kMaxQuestion.count || bytes > kMaxAnswer.count)
        return;
    if (const auto place = places_.find(question); place != places_.end())
        drop(place->second);
    bytes += question.size() + kOverhead;
    shrink(Bytes{kMaxBytes.count - bytes});
    if (const auto* text = std::get_if<SharedText>(&answer))
        (*text)->is_kept = true;
    bytes_ += bytes;
    entries_.push_front(Entry{.question = std::move(question),
                              .answer = std::move(answer),
                              .bytes = bytes,
                              .until = until});
    places_.emplace(entries_.front().question, entries_.begin());
}

void AnswerCache::drop(Entries::iterator entry) {
    if (const auto* text = std::get_if<SharedText>(&entry->answer)) {
        (*text)->is_kept = false;
        dropped_ += text->use_count() > 1 ? (*text)->bytes.size() : 0;
    }
    bytes_ -= entry->bytes;
    places_.erase(entry->question);
    entries_.erase(entry);
}

void AnswerCache::shrink(Bytes limit) {
    while (bytes_ > limit.count)
        drop(std::prev(entries_.end()));
}

void AnswerCache::clear() {
    shrink(Bytes{});
}

CallServer::CallServer(EventLoop& loop,
                       engine::Engine& engine,
                       const FileSystem& files,
                       Admission& admission,
                       std::optional<Surroundings> captured)
    : loop_{loop},
      engine_{engine},
      files_{files},
      admission_{admission},
      views_{engine, std::move(captured)},
      self_{std::make_shared<CallServer*>(this)} {}

CallServer::~CallServer() {
    self_.reset();
}

/// Also compares the creation time, for the reason given in ReportViews::forget_older().
std::uint64_t CallServer::refresh() {
    engine_.catch_up();
    const auto& report = engine_.report();
    if (generation_ != report.generation || created_ != report.created) {
        generation_ = report.generation;
        created_ = report.created;
        ++age_;
        answers_.clear();
    }
    return age_;
}

void CallServer::update() {
    answers_.clear();  // overrides or data files may have changed without a new report
}

namespace {

/// The first character of a class with only one caller. No other class begins with this character.
constexpr char kPersonal = '=';
/// How long an answer for one caller is valid.
constexpr Duration kPersonalLasts = std::chrono::seconds{1};

/// A class that contains only this caller.
std::string personal_class(const Caller& caller) {
    auto name = kPersonal + std::to_string(caller.uid) + (caller.groups ? "" : "?");
    for (const auto group : caller.groups.value_or(std::vector<std::uint32_t>{}))
        name += "," + std::to_string(group);
    return name;
}

/// The key of an answer in the cache. `access` is the class of callers; the fixes in an answer also
/// depend on whether the caller is root.
std::string joined_key(std::string_view access, const Caller& caller, std::string_view question) {
    std::string key;
    key.reserve(access.size() + 2 + question.size());
    key.append(access).append(1, caller.uid == kRoot ? '#' : '$').append(1, '\0').append(question);
    return key;
}

}  // namespace

const AnswerCache::Answer* CallServer::known(const std::string& access,
                                             const Caller& caller,
                                             std::string_view question) {
    // Answers aren't cached if this user has reported outcomes, because outcomes expire without a
    // new generation.
    if (question.size() > AnswerCache::kMaxQuestion.count || engine_.has_experience(caller.uid))
        return nullptr;
    const auto* found = answers_.find(joined_key(access, caller, question), loop_.now());
    if (!found && keeps_personal_)
        found = answers_.find(joined_key(personal_class(caller), caller, question), loop_.now());
    return found;
}

void CallServer::release_memory() {
    answers_.shrink(AnswerCache::kMaxAtRest);
    views_.forget();
    engine_.release_memory();
}

/// The key under which an answer is cached; empty if the answer must not be cached.
std::string CallServer::key_of(const ServedCall& served, const Caller& caller) {
    // An answer that needs permission must not be given to callers without this permission.
    if (served.question.empty() || served.traits.keeping == Keeping::Never ||
        !served.traits.needs.empty() || engine_.has_experience(caller.uid))
        return {};
    if (served.traits.keeping == Keeping::UntilReport)
        return joined_key(access_class(engine_.report(), caller), caller, served.question);
    return joined_key(personal_class(caller), caller, served.question);
}

void CallServer::keep(const std::string& key, AnswerCache::Answer answer, std::size_t bytes) {
    const bool is_personal = key.starts_with(kPersonal);
    keeps_personal_ = keeps_personal_ || is_personal;
    answers_.keep(key, std::move(answer), bytes,
                  is_personal ? std::optional{loop_.now() + kPersonalLasts} : std::nullopt);
}

void CallServer::serve(const std::shared_ptr<ServedCall>& served) {
    const Caller caller{.uid = served->call.uid, .groups = served->call.groups};
    const auto view = views_.report_for(caller);
    const auto* kept = served->send_kept && !served->question.empty()
                           ? known(view.access, caller, served->question)
                           : nullptr;
    if (kept)
        return served->send_kept(*kept);
    served->traits = traits_of(served->call, *view.report).value_or(MethodTraits{});
    if (served->traits.needs.empty() || !served->ask)
        return run(served);
    served->ask(served->traits.needs, [weak = std::weak_ptr{self_}, served](const Status& may) {
        const auto self = weak.lock();
        if (self && may)
            (*self)->run(served);
        else if (!may)
            served->heard(refusal_of(may.error()), {});
    });
}

/// Charges an expensive or waiting call to its payer. Errors: TooManyRequests.
Status CallServer::take_costs(ServedCall& served) {
    if (!served.traits.is_costly && !served.traits.waits)
        return Done{};
    const auto payer = admission_.payers.of(served.call.uid);
    if (served.traits.waits) {
        served.share = TRY(admission_.readings.claim(payer, 1, kTooManyReadings));
        return Done{};
    }
    served.share = TRY(admission_.probes.claim(payer, 1, kTooManyProbes));
    return admission_.calls.take(payer);
}

/// Answers a permitted call, after a refresh of the report if the method needs current values.
void CallServer::run(const std::shared_ptr<ServedCall>& served) {
    if (!served->is_wanted())
        return;
    if (const auto taken = take_costs(*served); !taken)
        return served->heard(refusal_of(taken.error()), {});
    if (!served->traits.is_of_now)
        return answer_now(served);
    engine_.renew([weak = std::weak_ptr{self_}, served] {
        if (const auto self = weak.lock())
            (*self)->answer_now(served);
    });
}

void CallServer::answer_now(const std::shared_ptr<ServedCall>& served) {
    if (!served->is_wanted())
        return;
    (void)refresh();
    const Caller caller{.uid = served->call.uid, .groups = served->call.groups};
    const MachineView machine{
        .engine = engine_,
        .files = files_,
        .seen = *views_.report_for(caller).report,
        .seen_json = [this, &caller]() -> const std::string& { return views_.json_for(caller); },
        .findings = [this, &caller]() -> const std::vector<Finding>& {
            return views_.findings_for(caller);
        },
        .captured = views_.captured()};
    // Only an answer that is given before answer() returns is certain to be based on this report
    // and may therefore be kept.
    const auto key = std::make_shared<std::string>(key_of(*served, caller));
    const auto heard = [served, key](const MethodAnswer& answer) {
        if (!answer.continues)
            served->share.reset();
        try {
            served->heard(answer, *key);
        } catch (const std::exception& problem) {
            served->heard(refusal_of({ErrorCode::Internal, problem.what()}), {});
        }
    };
    try {
        answer(served->call, machine, heard);
    } catch (const std::exception& problem) {  // the engine must not get exceptions
        heard(refusal_of({ErrorCode::Internal, problem.what()}));
    }
    key->clear();
    computed_();
}

}  // namespace gpuprobe::inline service
