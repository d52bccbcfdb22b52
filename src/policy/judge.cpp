// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "policy/accelerators.h"
#include "policy/candidates.h"
#include "policy/closest_miss.h"
#include "policy/evaluate.h"
#include "policy/fact.h"
#include "policy/profile.h"
#include "policy/term.h"
#include "report/compute_view.h"
#include "report/gpu_views.h"

namespace gpuprobe::inline policy {
namespace {

/// Collects reasons. The verdict depends on the most severe reason.
class Judgement {
public:
    Judgement(const std::string& backend, const Gpu* gpu) : judged_{.gpu = gpu} {
        judged_.candidate.backend = backend;
        if (gpu)
            judged_.candidate.gpu = gpu->id;
        judged_.candidate.verdict = Verdict::Accepted;
    }
    void reject(Reason reason) { judged_.reject(std::move(reason)); }
    /// Makes the verdict unknown, unless the candidate is already rejected. This function is used
    /// if a requirement of the profile, the request or the build is about an unknown fact and does
    /// not accept unknown facts.
    void doubt(Reason reason) {
        judged_.lacks_facts = true;
        doubt_usability(std::move(reason));
    }
    /// Makes the verdict unknown, unless the candidate is already rejected. This function is used
    /// if no driver has shown yet that the backend works.
    void doubt_usability(Reason reason) {
        if (is_accepted(judged_))
            judged_.candidate.verdict = Verdict::Unknown;
        judged_.candidate.reasons.push_back(std::move(reason));
    }
    /// Makes an accepted candidate uncertain. This function is used if a requirement is about an
    /// unknown fact and accepts unknown facts.
    void accept_unknown(Reason reason) {
        if (judged_.candidate.verdict == Verdict::Accepted)
            judged_.candidate.verdict = Verdict::Uncertain;
        accepted_.push_back(std::move(reason));
    }
    /// Adds a reason that does not change the verdict.
    void remark(Reason reason) { judged_.candidate.reasons.push_back(std::move(reason)); }
    [[nodiscard]] Judged end() && {
        // If a candidate cannot be chosen, reasons about accepted unknown facts do not matter.
        if (judged_.candidate.verdict == Verdict::Uncertain)
            std::ranges::move(accepted_, std::back_inserter(judged_.candidate.reasons));
        return std::move(judged_);
    }

private:
    Judged judged_;
    std::vector<Reason> accepted_ = {};  ///< reasons about unknown facts that requirements accept
};

/// A set of backends, with the application's names.
Value words_of(const SelectQuestion& question, const std::set<std::string>& backends) {
    Value::Array words;
    for (const auto& backend : backends)
        words.push_back(Value{question.word_for(backend)});
    return Value{std::move(words)};
}

/// Applies the parts of the profile and of the request that concern a backend on any GPU.
void try_backend(const SelectQuestion& question, const std::string& backend, Judgement& judgement) {
    if (question.built && !question.built->contains(backend))
        judgement.reject(because("not-built", {{"built", words_of(question, *question.built)}}));
    if (question.denied.contains(backend))
        judgement.reject(because("denied", {{"backend", question.word_for(backend)}}));
    if (question.only && !question.only->contains(backend))
        judgement.reject(
            because("not-requested", {{"requested", words_of(question, *question.only)}}));
}

/// Whether the reason is only about the host's user-space libraries (missing, not probed, or not
/// fully answering) and not about the kernel driver.
bool is_of_libraries(const Reason& why) {
    const auto* info = find_reason(why.code);
    return why.is("loader-missing") || why.is("not-probed") ||
           (info && info->effect == ReasonEffect::LeavesOpen &&
            includes(info->traits, ReasonTraits::Silence | ReasonTraits::DriverFault |
                                       ReasonTraits::Unheard | ReasonTraits::Unreliable));
}

/// Whether the host's libraries are the reason why the API isn't known to be usable.
bool lacks_libraries(const BackendView& view) {
    return view.usable != true && std::ranges::any_of(view.reasons, is_of_libraries);
}

/// Judges a GPU only by data from the kernel. This function is used if the application bundles its
/// user-space libraries, and the host's libraries report nothing. A backend with bundled libraries
/// needs the vendor's kernel driver and accessible device nodes.
void try_kernel(const BackendView& view, Api api, const Facts& facts, Judgement& judgement) {
    const auto& gpu = *facts.gpu();
    judgement.remark(because("bundled", {{"api", info_of(api).word}}));
    for (const auto& why : view.reasons) {
        const auto* info = find_reason(why.code);
        // Missing libraries of the host do not matter for this judgement.
        if (why.is("loader-missing") || why.is("not-probed"))
            continue;
        if (info && info->effect == ReasonEffect::Ends)
            judgement.reject(why);
        else if (info && info->effect == ReasonEffect::LeavesOpen && !is_of_libraries(why))
            judgement.doubt_usability(why);
        else
            judgement.remark(why);
    }
    // If the libraries of an API are missing, the API's view does not mention inaccessible nodes,
    // so check the nodes here.
    if (!has_reason(view.reasons, "no-permission"))
        for (auto& closed : shut_nodes(info_of(api).backend, facts.report().nodes, gpu))
            judgement.reject(std::move(closed));
    // The kernel driver must be a driver that the API's libraries can use.
    const auto drivers = kernel_drivers_for(api);
    if (!gpu.driver.name)
        judgement.doubt_usability(
            because("requirement-unknown",
                    {{"requirement", "kernel-driver=" + std::string{words(drivers).front()}}}));
    else if (!works_with(drivers, *gpu.driver.name))
        judgement.reject(because("kernel-driver-unfit",
                                 {{"driver", *gpu.driver.name}, {"api", info_of(api).word}}));
    // ROCm also needs /dev/kfd. The node is known to be missing only if the report lists at least
    // one node. WSL uses another node.
    const auto& shared = facts.report().nodes;
    const auto is_known = [](const DeviceNode& node) { return node.accessible || node.mode; };
    const bool has_kfd = std::ranges::find(shared, "/dev/kfd", &DeviceNode::path) != shared.end();
    if (api == Api::Hip && !has_kfd && gpu.driver.name != kTransport &&
        std::ranges::any_of(gpu.nodes, is_known))
        judgement.reject(because("node-missing", {{"node", "/dev/kfd"}}));
}

/// Whether the application bundles the user-space driver of the GPU. Mesa supports only some
/// vendors, so the host's libraries still matter for other vendors.
bool bundles_driver(const SelectQuestion& question, Api api, const Gpu& gpu) {
    return is_bundled(question.profile.bundles, api) &&
           (!info_of(api).vendor.empty() ||
            (gpu.driver.name && works_with(kernel_drivers_for(api), *gpu.driver.name)));
}

/// Applies what the report contains about the backend, with the reasons in the report.
void try_facts(const SelectQuestion& question,
               const std::string& backend,
               const Facts& facts,
               Judgement& judgement) {
    const auto& gpu = *facts.gpu();
    const auto api = api_of_backend(backend);
    const auto found = gpu.backends.find(backend);
    const bool is_video = found == gpu.backends.end() && is_video_backend(backend);
    if (found == gpu.backends.end() && !is_video)
        return judgement.doubt_usability(because("not-probed", {{"api", api_below(backend)}}));
    const auto view =
        is_video ? video_view(info_of(*api).word, facts.report().nodes, gpu) : found->second;
    // If the application bundles libraries, the host's libraries do not matter.
    if (api && lacks_libraries(view) && bundles_driver(question, *api, gpu))
        return try_kernel(view, *api, facts, judgement);
    for (const auto& why : view.reasons)
        if (view.usable == true)
            judgement.remark(why);
        else if (view.usable == false)
            judgement.reject(why);
        else
            judgement.doubt_usability(why);
    // Every verdict except "accepted" needs a reason.
    if (view.usable == false && view.reasons.empty())
        judgement.reject(because("not-usable"));
    if (!view.usable && view.reasons.empty())
        judgement.doubt_usability(because("not-probed", {{"api", api_below(backend)}}));
    if (view.usable != false && gpu.health != "ok")
        judgement.remark(because("unhealthy", {{"health", gpu.health}}));
}

/// If the request requires verified results, requires a verified result for the backend. If a
/// backend is unusable, there are already reasons against it.
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

/// Whether the backend supports the vendor of the GPU. If the backend does not support the vendor,
/// no further reason is added.
bool is_served(const Gpu& gpu, std::string_view backend) {
    const auto view = gpu.backends.find(std::string{backend});
    return view == gpu.backends.end() || !has_reason(view->second.reasons, "vendor-mismatch");
}

/// Applies the profile's rule about vendors. The rule about vendors also applies to a backend that
/// lacks a library on this machine, so that users do not install a library for an application that
/// would not use it.
void try_vendor(const SelectQuestion& question,
                const std::string& backend,
                const Gpu& gpu,
                Judgement& judgement) {
    if (!is_served(gpu, backend))
        return;
    const auto allowed = question.backends_for(gpu.vendor);
    if (std::ranges::find(allowed, backend) == allowed.end())
        judgement.reject(because("not-in-profile-for-vendor",
                                 {{"vendor", gpu.vendor ? Value{*gpu.vendor} : Value{}}}));
}

/// Adds a predicate's result to the judgement. If a predicate is unknown, the candidate becomes
/// unknown, so that it is never chosen. If an unknown predicate accepts unknown facts, the
/// candidate only becomes uncertain.
void weigh(Tested tested, Judgement& judgement) {
    if (!tested.why)
        return;
    if (tested.truth == Truth::False)
        judgement.reject(*std::move(tested.why));
    else if (tested.truth == Truth::Unknown)
        judgement.doubt(*std::move(tested.why));
    else
        judgement.accept_unknown(*std::move(tested.why));
}

/// The predicates for a backend; empty if the backend has no predicates.
const std::vector<Predicate>& rules_for(const std::map<std::string, std::vector<Predicate>>& rules,
                                        std::string_view backend) {
    static const std::vector<Predicate> kNone;
    const auto found = rules.find(std::string{backend});
    return found == rules.end() ? kNone : found->second;
}

/// Whether the request replaces a predicate about libraries. The predicates in the profile are
/// about published builds, but the request lists the libraries that the installed build needs and
/// bundles.
bool is_replaced(const SelectQuestion& question, const Predicate& predicate) {
    return !question.installed.empty() && predicate.alternatives.front().fact == FactId::Library;
}

/// Applies the minimums in the profile and in the request. Simulated GPUs have no facts that could
/// be compared.
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

/// The terms that a build does not meet, as a Route, because alternatives are compared
/// in this form.
Route way_of(const BuildNeeds& needs, const Facts& facts) {
    Route route;
    for (const auto& term : needs.terms)
        if (const auto result = holds(term, facts); result != Truth::True) {
            route.is_open = both(route.is_open, result);
            route.reasons.push_back(unmet(term, facts, result));
        }
    return route;
}

/// Adds the terms that a build does not meet to the judgement.
void weigh(const BuildNeeds& needs, const Facts& facts, Judgement& judgement) {
    for (const auto& term : needs.terms) {
        const auto result = holds(term, facts);
        if (result == Truth::True)
            continue;
        auto reason = unmet(term, facts, result);
        reason.detail["build"] = needs.build;
        if (result == Truth::False)
            judgement.reject(std::move(reason));
        else if (term.accepts_unknown)
            judgement.accept_unknown(std::move(reason));
        else
            judgement.doubt(std::move(reason));
    }
    // gpuprobe does not search for some libraries, so it cannot check them; mention these libraries
    // in a reason.
    for (const auto& library : needs.unlisted)
        judgement.remark(
            because("library-not-listed", {{"library", library}, {"build", needs.build}}));
}

/// Applies the closest alternative of the build for the backend, because at least one alternative
/// must be usable.
void try_build(const InstalledNeeds& build, const Facts& facts, Judgement& judgement) {
    const auto found = build.find(facts.subject().backend);
    if (found == build.end())
        return;
    const auto nearest = std::ranges::min_element(
        found->second, is_nearer,
        [&facts](const BuildNeeds& needs) { return way_of(needs, facts); });
    weigh(*nearest, facts, judgement);
}

/// Applies the requirements of the installed build.
void try_builds(const SelectQuestion& question, const Facts& facts, Judgement& judgement) {
    if (question.is_simulated)
        return;
    for (const auto& installed : question.installed)
        try_build(installed, facts, judgement);
}

/// Whether the GPU counts as discrete according to the profile.
bool is_lifted(const Profile& profile, const Facts& facts) {
    const auto holds = [&facts](const Predicate& predicate) {
        return test_predicate(predicate, facts).truth == Truth::True;
    };
    return std::ranges::any_of(rules_for(profile.as_discrete, kAnyBackend), holds) ||
           std::ranges::any_of(rules_for(profile.as_discrete, facts.subject().backend), holds);
}

/// The first predicate in the profile's `prefers` that isn't known to hold; null if all predicates
/// hold.
const Predicate* missed_preference(const Profile& profile, const Facts& facts) {
    for (const auto* rules : {&rules_for(profile.prefers, kAnyBackend),
                              &rules_for(profile.prefers, facts.subject().backend)})
        for (const auto& predicate : *rules)
            if (test_predicate(predicate, facts).truth != Truth::True)
                return &predicate;
    return nullptr;
}

/// The reason why an integrated GPU isn't used: either the application never supports integrated
/// GPUs, or no variable enables them.
Reason integrated_refusal(const Profile& profile) {
    if (profile.integrated_by.empty())
        return because("integrated-not-allowed");
    Value::Array switches;
    for (const auto& [variable, values] : profile.integrated_by)
        switches.push_back(Value{variable + "=" + values.substr(0, values.find('|'))});
    return because("integrated-not-enabled", {{"variables", Value{std::move(switches)}}});
}

/// Applies the rule about integrated GPUs to a GPU that does not count as discrete.
void try_kind(const SelectQuestion& question, const Gpu& gpu, Judgement& judgement) {
    if (question.integrated != IntegratedPolicy::Never)
        return;
    if (gpu.kind == GpuKind::Integrated)
        judgement.reject(integrated_refusal(question.profile));
    else if (gpu.kind == GpuKind::Unknown && !question.is_simulated)
        judgement.doubt(because("requirement-unknown", {{"requirement", "kind!=integrated"}}));
}

/// Whether one of the ids is the id of the GPU or, for a partition, the id of the GPU that is
/// partitioned.
template <class Ids>
bool is_among(const Ids& ids, const Gpu& gpu) {
    return std::ranges::any_of(ids, [&gpu](const std::string& id) { return goes_by(gpu, id); });
}

/// Applies the lists of selected and denied GPUs in the request.
void try_gpu(const SelectQuestion& question, const Gpu& gpu, Judgement& judgement) {
    if (is_among(question.denied_gpus, gpu))
        judgement.reject(because("denied", {{"gpu", gpu.id}}));
    if (question.gpus && !is_among(*question.gpus, gpu))
        judgement.reject(because(
            "not-requested", {{"requested", to_value(std::vector<std::string>(
                                                question.gpus->begin(), question.gpus->end()))}}));
}

/// If the application has reported a failure, the failure overrides all probes.
void try_experience(const SelectQuestion& question,
                    const std::string& backend,
                    const Gpu* gpu,
                    Judgement& judgement) {
    for (const auto& failure : question.failures)
        if (failure.backend == backend && (!failure.gpu || (gpu && goes_by(*gpu, *failure.gpu))))
            judgement.reject(because("reported-failed", {{"detail", failure.detail},
                                                         {"at_usec", to_value(failure.at)}}));
}

/// Whether the backend is known to be usable on the GPU.
bool can_use(const Gpu& gpu, const std::string& backend) {
    const auto found = gpu.backends.find(backend);
    return gpu.kind != GpuKind::DisplayOnly && found != gpu.backends.end() &&
           found->second.usable == true;
}

/// The measured score of the backend on the GPU; nullopt if the backend wasn't measured.
std::optional<double> score_on(const Gpu& gpu, const std::string& backend) {
    const auto found = gpu.backends.find(backend);
    return found == gpu.backends.end() ? std::nullopt : found->second.score;
}

Value text_or_null(const std::optional<std::string>& text) {
    return text ? Value{*text} : Value{};
}

/// The software devices of an API, in an order that does not change.
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

/// The reason why an API does not work; nullopt if the API works but has no device.
std::optional<ReasonCode> code_of(const RuntimeInfo& runtime) {
    const auto some = [](ReasonCode code) { return std::optional{code}; };
    switch (runtime.outcome) {
        case Outcome::Answered:
            break;
        case Outcome::Absent:
            // If a loader is installed, only a device is missing. If no loader is installed, the
            // API isn't installed.
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

/// Judges a backend on a machine that has no GPUs, or no accelerators that the backend uses.
Judged judge_absence(const SelectQuestion& question,
                     const std::string& backend,
                     const Report& report) {
    const auto api = api_below(backend);
    Judgement judgement{backend, nullptr};
    if (api.empty()) {
        judgement.reject(because("no-accelerator", {{"backend", question.word_for(backend)}}));
        try_backend(question, backend, judgement);
        return std::move(judgement).end();
    }
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
    return is_usable(judged.candidate.verdict);
}

bool may_be_chosen(const Judged& judged) {
    return is_accepted(judged) && judged.is_in_variant;
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
    // For a display-only adapter, no other reason matters.
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
    // Skip the detailed checks on GPUs from vendors that the backend does not support.
    if (is_served(gpu, backend)) {
        if (!counts_as_discrete && !is_accelerator(report, gpu))
            try_kind(question, gpu, judgement);
        try_floors(question, facts, judgement);
        try_builds(question, facts, judgement);
    }
    try_experience(question, backend, &gpu, judgement);
    auto judged = std::move(judgement).end();
    judged.is_accelerator = is_accelerator(report, gpu);
    judged.is_fallback = gpu.kind == GpuKind::Integrated && !counts_as_discrete;
    if (is_accepted(judged) && !question.is_simulated)
        judged.lacks = missed_preference(question.profile, facts);
    judged.score = score_on(gpu, backend);
    return judged;
}

std::vector<Judged> judge_without_gpu(const SelectQuestion& question,
                                      const std::string& backend,
                                      const Report& report) {
    const auto uses = [&backend](const Gpu& gpu) { return can_use(gpu, backend); };
    // Mention software devices only if the backend cannot use any GPU.
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
    const bool is_for_none = std::ranges::none_of(
        report.gpus, [&](const Gpu& gpu) { return is_for(backend, report, gpu); });
    if (candidates.empty() && is_for_none)
        candidates.push_back(judge_absence(question, backend, report));
    return candidates;
}

Judged judge_switched_off(const std::string& backend) {
    Judgement judgement{backend, nullptr};
    judgement.reject(because("switched-off"));
    return std::move(judgement).end();
}

/// Requirements for GPUs do not apply to the CPU, so only predicates about the host are tested.
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
