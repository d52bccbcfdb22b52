// SPDX-License-Identifier: Apache-2.0
#include "policy/judge.h"

#include <algorithm>
#include <tuple>

#include "base/parse.h"
#include "policy/nearness.h"
#include "policy/profile.h"
#include "policy/term.h"
#include "policy/variant_reasons.h"
#include "report/backend_view.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

/// Collects reasons; the gravest one makes the verdict.
class Judgement {
public:
    Judgement(const std::string& backend, const Gpu* gpu) : judged_{.gpu = gpu} {
        judged_.candidate.backend = backend;
        if (gpu)
            judged_.candidate.gpu = gpu->id;
        judged_.candidate.verdict = Verdict::Accepted;
    }
    void reject(Reason reason) { judged_.reject(std::move(reason)); }
    void doubt(Reason reason) {
        if (judged_.candidate.verdict == Verdict::Accepted)
            judged_.candidate.verdict = Verdict::Unknown;
        judged_.candidate.reasons.push_back(std::move(reason));
    }
    [[nodiscard]] bool is_rejected() const {
        return judged_.candidate.verdict == Verdict::Rejected;
    }
    void remark(Reason reason) { judged_.candidate.reasons.push_back(std::move(reason)); }
    [[nodiscard]] Judged end() && { return std::move(judged_); }

private:
    Judged judged_;
};

Value words_of(const SelectQuestion& question, const std::set<std::string>& backends) {
    Value::Array words;
    for (const auto& backend : backends)
        words.push_back(Value{question.word_for(backend)});
    return Value{std::move(words)};
}

/// What profile and request say about the backend, whatever the GPU.
void try_backend(const SelectQuestion& question, const std::string& backend, Judgement& judgement) {
    if (question.built && !question.built->contains(backend))
        judgement.reject(because("not-built", {{"built", words_of(question, *question.built)}}));
    if (question.denied.contains(backend))
        judgement.reject(because("denied", {{"backend", question.word_for(backend)}}));
    if (question.only && !question.only->contains(backend))
        judgement.reject(
            because("not-requested", {{"requested", words_of(question, *question.only)}}));
}

/// Of the host's own libraries: they are missing, were not asked, or gave no whole answer. It says
/// nothing of the kernel's driver.
bool is_of_libraries(const Reason& why) {
    const auto* info = find_reason(why.code);
    return why.is("loader-missing") || why.is("not-probed") ||
           (info && info->effect == ReasonEffect::LeavesOpen &&
            includes(info->traits, ReasonTraits::Silence | ReasonTraits::DriverFault |
                                       ReasonTraits::Unheard | ReasonTraits::Unreliable));
}

/// Whether the API has no more against the GPU than what is of the host's own libraries.
bool lacks_libraries(const BackendView& view) {
    return view.usable != true && std::ranges::any_of(view.reasons, is_of_libraries);
}

/// Where the host's libraries say nothing of a GPU, a consumer that brings its own needs what the
/// kernel has: the vendor's driver, and nodes that are not closed.
void try_kernel(const BackendView& view, Api api, const Facts& facts, Judgement& judgement) {
    const auto& gpu = *facts.gpu();
    judgement.remark(because("brought", {{"api", info_of(api).word}}));
    for (const auto& why : view.reasons) {
        const auto* info = find_reason(why.code);
        if (why.is("loader-missing") || why.is("not-probed"))
            continue;
        if (info && info->effect == ReasonEffect::Ends)
            judgement.reject(why);
        else if (info && info->effect == ReasonEffect::LeavesOpen && !is_of_libraries(why))
            judgement.doubt(why);
        else
            judgement.remark(why);
    }
    // Of an API whose libraries are missing, the report does not say that its nodes are closed too.
    if (!has_reason(view.reasons, "no-permission"))
        for (auto& closed : shut_nodes(info_of(api).backend, facts.report().nodes, gpu))
            judgement.reject(std::move(closed));
    const auto drivers = kernel_drivers_for(api);
    if (!gpu.driver.name)
        judgement.doubt(
            because("requirement-unknown",
                    {{"requirement", "kernel-driver=" + std::string{words(drivers).front()}}}));
    else if (!works_with(drivers, *gpu.driver.name))
        judgement.reject(because("kernel-driver-unfit",
                                 {{"driver", *gpu.driver.name}, {"api", info_of(api).word}}));
    const auto& shared = facts.report().nodes;
    const auto is_known = [](const DeviceNode& node) { return node.accessible || node.mode; };
    const bool has_kfd = std::ranges::find(shared, "/dev/kfd", &DeviceNode::path) != shared.end();
    if (api == Api::Hip && !has_kfd && gpu.driver.name != kTransport &&
        std::ranges::any_of(gpu.nodes, is_known))
        judgement.reject(because("node-missing", {{"node", "/dev/kfd"}}));
}

/// Whether the consumer has with it what drives the GPU. Mesa drives some vendors' alone, and what
/// the host has counts for the others.
bool brings_driver(const SelectQuestion& question, Api api, const Gpu& gpu) {
    return is_brought(question.profile.brings, api) &&
           (!info_of(api).vendor.empty() ||
            (gpu.driver.name && works_with(kernel_drivers_for(api), *gpu.driver.name)));
}

/// What the report says: the reasons are the report's own.
void try_facts(const SelectQuestion& question,
               const std::string& backend,
               const Facts& facts,
               Judgement& judgement) {
    const auto& gpu = *facts.gpu();
    const auto found = gpu.backends.find(backend);
    if (found == gpu.backends.end())
        return judgement.doubt(because("not-probed", {{"api", api_below(backend)}}));
    const auto& view = found->second;
    const auto api = api_of_backend(backend);
    if (api && lacks_libraries(view) && brings_driver(question, *api, gpu))
        return try_kernel(view, *api, facts, judgement);
    for (const auto& why : view.reasons)
        if (view.usable == true)
            judgement.remark(why);
        else if (view.usable == false)
            judgement.reject(why);
        else
            judgement.doubt(why);
    if (view.usable == false && view.reasons.empty())
        judgement.reject(because("not-usable"));
    if (!view.usable && view.reasons.empty())
        judgement.doubt(because("not-probed", {{"api", api_below(backend)}}));
    if (view.usable != false && gpu.health != "ok")
        judgement.remark(because("unhealthy", {{"health", gpu.health}}));
}

/// A floor of the request's; what can't be used anyway has its reasons.
void try_verified(const SelectQuestion& question,
                  const std::string& backend,
                  const Gpu& gpu,
                  Judgement& judgement) {
    const auto found = gpu.backends.find(backend);
    if (!question.requires_verified || question.is_simulated || found == gpu.backends.end())
        return;
    const auto& view = found->second;
    if (view.verified || view.usable == false)
        return;
    judgement.reject(
        because("not-verified",
                {{"result", view.verification ? to_value(view.verification->result) : Value{}}}));
}

/// A profile's vendor rule says nothing new about a GPU that can't use the backend anyway.
void try_vendor(const SelectQuestion& question,
                const std::string& backend,
                const Gpu& gpu,
                Judgement& judgement) {
    const auto found = gpu.backends.find(backend);
    if (found != gpu.backends.end() && found->second.usable == false)
        return;
    const auto allowed = question.backends_for(gpu.vendor);
    if (std::ranges::find(allowed, backend) == allowed.end())
        judgement.reject(because("not-in-profile-for-vendor",
                                 {{"vendor", gpu.vendor ? Value{*gpu.vendor} : Value{}}}));
}

/// A rule that is unknown leaves the candidate unknown: what is not known is no promise.
void weigh(Tested tested, Judgement& judgement) {
    if (tested.truth == Truth::False)
        judgement.reject(std::move(tested.why));
    else if (tested.truth == Truth::Unknown)
        judgement.doubt(std::move(tested.why));
}

const std::vector<std::string>& rules_for(
    const std::map<std::string, std::vector<std::string>>& rules, std::string_view backend) {
    static const std::vector<std::string> kNone;
    const auto found = rules.find(std::string{backend});
    return found == rules.end() ? kNone : found->second;
}

/// What a profile says of libraries is about the builds that are published: of the one that is
/// installed, the request tells which it needs and which it brings.
bool is_replaced(const SelectQuestion& question, const std::string& predicate) {
    const auto parsed = parse_predicate(predicate);
    return !question.installed.empty() && parsed && !parsed->alternatives.empty() &&
           parsed->alternatives.front().fact == FactId::Library;
}

/// Floors of the profile and of the request. Made-up GPUs have no facts to compare.
void try_floors(const SelectQuestion& question, const Facts& facts, Judgement& judgement) {
    const auto backend = facts.subject().backend;
    if (question.is_simulated)
        return;
    for (const auto* rules : {&rules_for(question.profile.floors, kAnyBackend),
                              &rules_for(question.profile.floors, backend)})
        for (const auto& predicate : *rules)
            if (!is_replaced(question, predicate))
                weigh(test_predicate(predicate, facts), judgement);
    for (const auto& predicate : question.require)
        weigh(test_predicate(predicate, facts), judgement);
    if (question.min_memory)
        weigh(test_term(memory_floor(*question.min_memory, "min-memory"), facts), judgement);
}

Way way_of(const BuildNeeds& needs, const Facts& facts) {
    Way way;
    for (const auto& term : needs.terms)
        if (const auto result = holds(term, facts); result != Truth::True) {
            way.is_open = both(way.is_open, result);
            way.reasons.push_back(unmet(term, facts, result));
        }
    return way;
}

void weigh(const BuildNeeds& needs, const Facts& facts, Judgement& judgement) {
    for (const auto& term : needs.terms) {
        const auto result = holds(term, facts);
        if (result == Truth::True)
            continue;
        auto reason = unmet(term, facts, result);
        reason.detail["build"] = needs.build;
        if (result == Truth::False)
            judgement.reject(std::move(reason));
        else if (needs.takes_doubt)
            judgement.remark(std::move(reason));
        else
            judgement.doubt(std::move(reason));
    }
    for (const auto& library : needs.unlisted)
        judgement.remark(
            because("library-not-listed", {{"library", library}, {"build", needs.build}}));
}

/// Of the ways in which a build can use the backend, one must be open.
void try_build(const InstalledNeeds& build, const Facts& facts, Judgement& judgement) {
    const auto found = build.find(facts.subject().backend);
    if (found == build.end())
        return;
    const auto nearest = std::ranges::min_element(
        found->second, is_nearer,
        [&facts](const BuildNeeds& needs) { return way_of(needs, facts); });
    weigh(*nearest, facts, judgement);
}

/// Published builds say nothing new about a GPU that can't be used anyway.
void try_builds(const SelectQuestion& question, const Facts& facts, Judgement& judgement) {
    if (question.is_simulated)
        return;
    for (const auto& installed : question.installed)
        try_build(installed, facts, judgement);
    if (!judgement.is_rejected())
        try_build(question.published, facts, judgement);
}

/// Whether the GPU's vendor is one that the backend serves at all: of another's nothing else is
/// worth saying.
bool is_served(const Gpu& gpu, std::string_view backend) {
    const auto view = gpu.backends.find(std::string{backend});
    return view == gpu.backends.end() || !has_reason(view->second.reasons, "vendor-mismatch");
}

/// Whether the GPU counts as a discrete one by what the profile says.
bool is_lifted(const Profile& profile, const Facts& facts) {
    const auto holds = [&facts](const std::string& predicate) {
        return test_predicate(predicate, facts).truth == Truth::True;
    };
    return std::ranges::any_of(rules_for(profile.as_discrete, kAnyBackend), holds) ||
           std::ranges::any_of(rules_for(profile.as_discrete, facts.subject().backend), holds);
}

/// Integrated GPUs of a program that does not use them, or not as it is started.
Reason integrated_refusal(const Profile& profile) {
    if (profile.integrated_by.empty())
        return because("integrated-not-allowed");
    Value::Array switches;
    for (const auto& [variable, values] : profile.integrated_by)
        switches.push_back(Value{variable + "=" + values.substr(0, values.find('|'))});
    return because("integrated-not-enabled", {{"variables", Value{std::move(switches)}}});
}

/// Of a GPU that no rule lifts out of its kind.
void try_kind(const SelectQuestion& question, const Gpu& gpu, Judgement& judgement) {
    if (question.integrated != IntegratedPolicy::Never)
        return;
    if (gpu.kind == GpuKind::Integrated)
        judgement.reject(integrated_refusal(question.profile));
    else if (gpu.kind == GpuKind::Unknown && !question.is_simulated)
        judgement.doubt(because("requirement-unknown", {{"requirement", "kind!=integrated"}}));
}

/// Whether one of the ids is the GPU's, or that of the GPU whose unit it is.
template <class Ids>
bool is_among(const Ids& ids, const Gpu& gpu) {
    return std::ranges::any_of(ids, [&gpu](const std::string& id) { return goes_by(gpu, id); });
}

void try_gpu(const SelectQuestion& question, const Gpu& gpu, Judgement& judgement) {
    if (is_among(question.denied_gpus, gpu))
        judgement.reject(because("denied", {{"gpu", gpu.id}}));
    if (question.gpus && !is_among(*question.gpus, gpu))
        judgement.reject(because(
            "not-requested", {{"requested", to_value(std::vector<std::string>(
                                                question.gpus->begin(), question.gpus->end()))}}));
}

/// Whoever tried and failed knows better than any probe.
void try_experience(const SelectQuestion& question,
                    const std::string& backend,
                    const Gpu* gpu,
                    Judgement& judgement) {
    for (const auto& failure : question.failures)
        if (failure.backend == backend && (!failure.gpu || (gpu && goes_by(*gpu, *failure.gpu))))
            judgement.reject(because("reported-failed", {{"detail", failure.detail},
                                                         {"at_usec", to_value(failure.at)}}));
}

bool can_use(const Gpu& gpu, const std::string& backend) {
    const auto found = gpu.backends.find(backend);
    return gpu.kind != GpuKind::DisplayOnly && found != gpu.backends.end() &&
           found->second.usable == true;
}

std::optional<double> score_on(const Gpu& gpu, const std::string& backend) {
    const auto found = gpu.backends.find(backend);
    return found == gpu.backends.end() ? std::nullopt : found->second.score;
}

Value text_or_null(const std::optional<std::string>& text) {
    return text ? Value{*text} : Value{};
}

std::vector<const SoftwareDevice*> software_for(std::string_view api, const Report& report) {
    std::vector<const SoftwareDevice*> devices;
    for (const auto& device : report.software)
        if (device.api == api)
            devices.push_back(&device);
    std::ranges::sort(devices, {}, [](const SoftwareDevice* device) {
        return std::tie(device->name, device->driver, device->score);
    });
    return devices;
}

/// What became of an API that has no device here; nullopt when it just has none.
std::optional<ReasonCode> code_of(const RuntimeInfo& runtime) {
    const auto some = [](ReasonCode code) { return std::optional{code}; };
    switch (runtime.outcome) {
        case Outcome::Answered:
            break;
        case Outcome::Absent:
            return runtime.loader ? std::nullopt : some("loader-missing");
        case Outcome::Failed:
            return some("driver-failed");
        case Outcome::TimedOut:
            return some("driver-timed-out");
        case Outcome::Crashed:
            return some("driver-crashed");
        case Outcome::Skipped:
            return some("skipped");
    }
    return std::nullopt;
}

Judged judge_absence(const SelectQuestion& question,
                     const std::string& backend,
                     const Report& report) {
    const auto api = api_below(backend);
    Judgement judgement{backend, nullptr};
    judgement.reject(because("no-gpu", {{"api", api}}));
    const auto runtime = report.runtimes.find(std::string{api});
    if (runtime != report.runtimes.end())
        if (const auto code = code_of(runtime->second))
            judgement.reject(because(*code, {{"api", api}}));
    try_backend(question, backend, judgement);
    return std::move(judgement).end();
}

}  // namespace

bool is_accepted(const Judged& judged) {
    return judged.candidate.verdict == Verdict::Accepted;
}

void Judged::reject(Reason reason) {
    candidate.verdict = Verdict::Rejected;
    add_obstacle(std::move(reason), candidate.reasons);
}

Judged judge(const SelectQuestion& question,
             const std::string& backend,
             const Gpu& gpu,
             const Report& report) {
    const Facts facts{{.report = report,
                       .gpu = &gpu,
                       .backend = backend,
                       .backend_word = question.word_for(backend)}};
    Judgement judgement{backend, &gpu};
    if (gpu.kind == GpuKind::DisplayOnly) {
        judgement.reject(because("display-only", {{"driver", text_or_null(gpu.driver.name)}}));
        return std::move(judgement).end();
    }
    try_facts(question, backend, facts, judgement);
    try_verified(question, backend, gpu, judgement);
    try_vendor(question, backend, gpu, judgement);
    try_backend(question, backend, judgement);
    const bool counts_as_discrete = is_lifted(question.profile, facts);
    try_gpu(question, gpu, judgement);
    if (is_served(gpu, backend)) {
        if (!counts_as_discrete)
            try_kind(question, gpu, judgement);
        try_floors(question, facts, judgement);
        try_builds(question, facts, judgement);
    }
    try_experience(question, backend, &gpu, judgement);
    auto judged = std::move(judgement).end();
    judged.is_fallback = gpu.kind == GpuKind::Integrated && !counts_as_discrete;
    judged.score = score_on(gpu, backend);
    return judged;
}

std::vector<Judged> judge_without_gpu(const SelectQuestion& question,
                                      const std::string& backend,
                                      const Report& report) {
    const auto uses = [&backend](const Gpu& gpu) { return can_use(gpu, backend); };
    if (std::ranges::any_of(report.gpus, uses))
        return {};
    std::vector<Judged> candidates;
    for (const auto* device : software_for(api_below(backend), report)) {
        Judgement judgement{backend, nullptr};
        judgement.reject(
            because("software-rasterizer", {{"name", text_or_null(device->name)},
                                            {"api", device->api},
                                            {"driver", text_or_null(device->driver)}}));
        try_backend(question, backend, judgement);
        candidates.push_back(std::move(judgement).end());
        candidates.back().score = device->score;
    }
    if (candidates.empty() && report.gpus.empty())
        candidates.push_back(judge_absence(question, backend, report));
    return candidates;
}

Judged judge_switched_off(const std::string& backend) {
    Judgement judgement{backend, nullptr};
    judgement.reject(because("switched-off"));
    return std::move(judgement).end();
}

/// What is required of a GPU says nothing about the CPU.
Judged judge_cpu(const SelectQuestion& question, const Report& report) {
    const std::string cpu{kCpu};
    const Facts facts{{.report = report, .backend = cpu, .backend_word = question.word_for(cpu)}};
    Judgement judgement{cpu, nullptr};
    if (question.profile.cpu == CpuPolicy::Forbid)
        judgement.reject(because("cpu-forbidden"));
    try_backend(question, cpu, judgement);
    for (const auto* rules : {&rules_for(question.profile.floors, kCpu), &question.require})
        for (const auto& predicate : *rules)
            if (is_about_host(predicate))
                weigh(test_predicate(predicate, facts), judgement);
    try_builds(question, facts, judgement);
    try_experience(question, cpu, nullptr, judgement);
    auto judged = std::move(judgement).end();
    judged.score = report.host.cpu.score;
    return judged;
}

}  // namespace gpuprobe::inline policy
