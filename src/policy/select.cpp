// SPDX-License-Identifier: Apache-2.0
#include "policy/select.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/accelerators.h"
#include "policy/candidates.h"
#include "policy/causes.h"
#include "policy/closest_miss.h"
#include "policy/decision.h"
#include "policy/environment.h"
#include "policy/fact.h"
#include "policy/gpu_selection.h"
#include "policy/profile.h"
#include "policy/profile_texts.h"
#include "report/compute_view.h"
#include "report/report.h"

/// Decisions about machines that aren't probed: machines with simulated GPUs, and other platforms.

namespace gpuprobe::inline policy {

RECORD_DEFINE_CONVERSIONS(Decision)

/// The report's machine with its GPUs replaced by one simulated GPU for each of `backends`, which
/// are the application's names or gpuprobe's names. "gpu" means every GPU backend of the profile.
/// "none" and backends that aren't in the profile add no GPU.
Report simulated_report(const Profile& profile,
                        const std::vector<std::string>& backends,
                        const Report& report);

/// The choice on a platform that the profile lists. On a platform that the profile does not list,
/// nothing is chosen, and the reason is `platform-not-in-profile`. Backend names in the request
/// must be the application's names, because they aren't translated.
Decision decision_for_platform(const Profile& profile,
                               const SelectRequest& request,
                               const std::string& platform);

namespace {

/// The application's name for a backend.
std::string word_for(const Profile& profile, const std::string& backend) {
    const auto found = profile.translate.find(backend);
    return found == profile.translate.end() ? backend : found->second;
}

/// The vendor of the simulated GPU; nullopt if the backend serves several vendors.
std::optional<std::string> vendor_for(std::string_view backend) {
    const auto vendor = vendor_of_backend(backend);
    return vendor.empty() ? std::nullopt : std::optional<std::string>{vendor};
}

/// A simulated GPU on which only `backend` is usable.
Gpu made_up_gpu(const Profile& profile, const std::string& backend) {
    Gpu gpu{.id = "fake:" + word_for(profile, backend), .kind = GpuKind::Discrete};
    gpu.vendor = vendor_for(backend);
    gpu.name = "simulated for " + word_for(profile, backend);
    for (const auto& other : profile.backends)
        if (other == backend)
            gpu.backends[other] = {.usable = true, .reasons = {because("simulated")}};
        else if (other != kCpu)
            gpu.backends[other] = {.usable = false, .reasons = {because("not-listed")}};
    return gpu;
}

/// A candidate, with the reasons against the candidate that follow from the request.
Candidate candidate_on(const std::string& word, const SelectRequest& request) {
    Candidate candidate{.backend = word, .verdict = Verdict::Accepted};
    const auto reject = [&candidate](Reason why) {
        candidate.verdict = Verdict::Rejected;
        candidate.reasons.push_back(std::move(why));
    };
    const auto requested =
        request.backend ? std::optional{std::vector{*request.backend}} : request.only;
    // If acceleration is switched off, only the CPU remains, and the requested backends are
    // ignored.
    if (is_switched_off(request) && word != kCpu)
        reject(because("switched-off"));
    else if (!is_switched_off(request) && requested && !contains(*requested, word))
        reject(because("not-requested", {{"requested", to_value(*requested)}}));
    if (request.built && !contains(*request.built, word))
        reject(because("not-built", {{"built", to_value(*request.built)}}));
    if (contains(request.deny, word))
        reject(because("denied", {{"backend", word}}));
    return candidate;
}

/// Returns no facts, so that message_for() leaves out messages that need a probed machine.
std::optional<std::string> no_fact(std::string_view) {
    return std::nullopt;
}

/// The profile's message for the choice. Situations that depend on the machine can't occur here.
std::vector<std::string> messages_for(const Profile& profile, const Decision& decision) {
    const auto* const situation = decision.backend ? "selected" : "none";
    auto text = message_for(profile, situation, decision.backend.value_or(""), no_fact);
    return text ? std::vector{*std::move(text)} : std::vector<std::string>{};
}

}  // namespace

Report simulated_report(const Profile& profile,
                        const std::vector<std::string>& backends,
                        const Report& report) {
    Report simulated{.generation = report.generation, .state = report.state};
    simulated.host = report.host;
    for (const auto& backend : profile.backends) {
        // Accept both the application's name and gpuprobe's name for a backend.
        const bool is_named = contains(backends, "gpu") || contains(backends, backend) ||
                              contains(backends, word_for(profile, backend));
        if (is_named && backend != kCpu)
            simulated.gpus.push_back(made_up_gpu(profile, backend));
    }
    return simulated;
}

Decision decision_for_platform(const Profile& profile,
                               const SelectRequest& request,
                               const std::string& platform) {
    Decision decision{.application = profile.name};
    const auto found = profile.platforms.find(platform);
    std::string accepted;
    if (found == profile.platforms.end()) {
        // If the profile has no list for the platform, every backend is rejected.
        for (const auto& backend : profile.backends)
            decision.candidates.push_back(
                {.backend = word_for(profile, backend),
                 .verdict = Verdict::Rejected,
                 .reasons = {because("platform-not-in-profile", {{"platform", platform}})}});
    } else {
        // The first accepted backend in the platform's order is the choice.
        for (const auto& word : found->second) {
            auto candidate = candidate_on(word, request);
            if (candidate.verdict == Verdict::Accepted) {
                accepted += (accepted.empty() ? "" : ",") + word;
                if (!decision.backend)
                    decision.backend = word;
            }
            decision.candidates.push_back(std::move(candidate));
        }
    }
    decision.summary = "requested=" + request.backend.value_or("auto") + " detected=[" + accepted +
                       "] selected=" + decision.backend.value_or("none");
    // Answers may still depend on the platform and the backend, so use an empty report.
    const Report nothing;
    decision.answers = answers_of(profile,
                                  Facts{{.report = nothing,
                                         .backend_word = decision.backend.value_or(""),
                                         .platform = platform}},
                                  {.report = nothing});
    decision.messages = messages_for(profile, decision);
    if (!request.include_rejected)
        std::erase_if(decision.candidates, [](const Candidate& candidate) {
            return candidate.verdict == Verdict::Rejected;
        });
    return decision;
}

namespace {

/// Whether a program that uses the best GPU should also use the other GPU, because the GPUs are
/// equivalent or the request also names the other GPU.
bool goes_with(const Gpu& best, const Gpu& other, bool is_named) {
    return is_alike(best, other) || (is_named && !stands_alone(best) && !stands_alone(other));
}

/// The accepted GPUs of the chosen backend that a program should use together with the best GPU;
/// the best GPU comes first. If the program uses only one GPU, the list contains only the best GPU.
std::vector<const Gpu*> group_of(const SelectQuestion& question,
                                 const Judged& best,
                                 const std::vector<Judged>& all) {
    std::vector<const Gpu*> gpus;
    for (const auto& judged : all)
        if (best.gpu && judged.gpu && is_accepted(judged) &&
            judged.candidate.backend == best.candidate.backend && judged.is_in_variant &&
            goes_with(*best.gpu, *judged.gpu, question.gpus.has_value()))
            gpus.push_back(judged.gpu);
    std::stable_partition(gpus.begin(), gpus.end(),
                          [&best](const Gpu* gpu) { return gpu == best.gpu; });
    if (question.profile.gpus == GpuCount::One && !gpus.empty())
        gpus.resize(1);
    return gpus;
}

/// The facts about the first selected GPU, as seen through the candidate's backend. `candidate` is
/// null if nothing was chosen.
Facts facts_on(const SelectQuestion& question,
               const Candidate* candidate,
               const Selection& selection) {
    const auto backend = candidate ? candidate->backend : std::string{kCpu};
    return Facts{
        {.report = selection.report,
         .gpu = selection.gpus.empty() ? nullptr : selection.gpus.front(),
         .backend = backend,
         .backend_word = question.word_for(backend),
         .variant = candidate && candidate->variant ? candidate->variant : question.variant}};
}

/// The application's answers for the selection. Answers such as `--device=Vulkan1` also select a
/// GPU.
Variables answers_on(const SelectQuestion& question,
                     const Candidate* candidate,
                     const Selection& selection) {
    return answers_of(question.profile, facts_on(question, candidate, selection), selection);
}

/// The variables that restrict the application to this selection and, if needed, the variables that
/// enable integrated GPUs.
Variables environment_on(const SelectQuestion& question,
                         const Judged& judged,
                         const Selection& selection,
                         Preferences preferences = Preferences::Included) {
    const auto& backend = judged.candidate.backend;
    auto environment =
        environment_of(question.profile, backend, selection,
                       answers_on(question, &judged.candidate, selection), preferences);
    if (judged.is_fallback)
        environment.insert(question.integrated_by.begin(), question.integrated_by.end());
    hide_additions(access_of(question.profile), question.callers_environment, environment);
    return environment;
}

/// Whether the program may see the candidate's GPU through the backend, even if the candidate was
/// rejected.
bool may_be_seen(const Judged& judged) {
    if (!judged.gpu)
        return false;
    const auto view = judged.gpu->backends.find(judged.candidate.backend);
    return view != judged.gpu->backends.end() && view->second.usable != false;
}

/// The variables and answers that select one GPU through a backend. Programs that run with the same
/// values see the same GPUs.
struct SelectingValues {
    std::string backend = {};
    Variables environment = {};
    Variables answers = {};
    auto operator<=>(const SelectingValues&) const = default;
};

/// The variables and answers that select a candidate's GPU. Variables that only make the program
/// prefer the GPU are left out, because they do not hide the other GPUs from the program.
SelectingValues values_on(const SelectQuestion& question,
                          const Judged& judged,
                          const Selection& selection) {
    const auto& backend = judged.candidate.backend;
    return {.backend = backend,
            .environment = environment_on(question, judged, selection, Preferences::LeftOut),
            .answers = answers_on(question, &judged.candidate, selection)};
}

/// Adds `not-told-apart` to accepted candidates whose variables and answers also select another
/// GPU, so that the program sees both. An empty environment selects all GPUs. `not-told-apart`
/// applies only to programs that read or forward a variable, not to the rules of an installer.
class EquivalentGpus {
public:
    explicit EquivalentGpus(const Access& access) : reads_variables_{!access.variables.empty()} {}
    /// Adds the candidate to the group of candidates that the same values select.
    void add(Judged& judged, SelectingValues values) {
        if (may_be_seen(judged) && (reads_variables_ || !values.environment.empty()))
            named_[std::move(values)].push_back(&judged);
    }
    /// Marks the accepted candidates in groups with several candidates.
    void mark() const {
        for (const auto& [values, alike] : named_)
            for (auto* judged : alike)
                if (is_accepted(*judged) && alike.size() > 1)
                    judged->candidate.reasons.push_back(because(
                        "not-told-apart",
                        {{"gpu", judged->gpu->id}, {"gpus", Value{others(alike, *judged)}}}));
    }

private:
    /// The ids of the other GPUs in the group.
    static Value::Array others(const std::vector<Judged*>& alike, const Judged& judged) {
        Value::Array ids;
        for (const auto* other : alike)
            if (other != &judged)
                ids.push_back(Value{other->gpu->id});
        return ids;
    }
    bool reads_variables_;
    std::map<SelectingValues, std::vector<Judged*>> named_ = {};
};

/// Gives each accepted candidate its environment. Adds a reason to candidates that the caller's
/// variables hide, and to candidates that cannot be distinguished from other candidates.
void add_environments(const SelectQuestion& question,
                      const Report& report,
                      std::vector<Judged>& all) {
    const auto access = access_of(question.profile);
    EquivalentGpus names{access};
    for (auto& judged : all) {
        auto& candidate = judged.candidate;
        Selection alone{.report = report};
        if (judged.gpu)
            alone.gpus.push_back(judged.gpu);
        if (is_accepted(judged))
            candidate.environment = environment_on(question, judged, alone);
        // Rejected GPUs matter too, because the program may still see them under the same name.
        if (may_be_seen(judged))
            names.add(judged, values_on(question, judged, alone));
        if (!judged.gpu || candidate.verdict == Verdict::Rejected)
            continue;
        // If a candidate is accepted or its verdict is unknown, report the variables that hide the
        // candidate.
        for (auto& reason : hidden_by(question.callers_environment, access, candidate.backend,
                                      *judged.gpu, alone, candidate.environment))
            candidate.reasons.push_back(std::move(reason));
    }
    names.mark();
}

/// The decision as one line for logs.
std::string summary_of(const SelectQuestion& question,
                       const std::vector<std::string>& available,
                       const std::optional<std::string>& chosen) {
    std::string list;
    for (const auto& word : available)
        list += (list.empty() ? "" : ",") + word;
    return "requested=" + question.requested + " detected=[" + list +
           "] selected=" + chosen.value_or("none");
}

/// The candidates, with the application's names for backends.
std::vector<Candidate> candidates_of(const SelectQuestion& question,
                                     std::vector<Judged> all,
                                     bool include_rejected) {
    std::vector<Candidate> candidates;
    for (auto& judged : all) {
        if (judged.candidate.verdict == Verdict::Rejected && !include_rejected)
            continue;
        judged.candidate.backend = question.word_for(judged.candidate.backend);
        candidates.push_back(std::move(judged.candidate));
    }
    return candidates;
}

/// Whether the selected program would also see GPUs that weren't chosen.
bool shows_others(const Reason& reason, const std::vector<std::string>& chosen) {
    const auto* seen = reason.detail.at("gpus").as_array();
    return reason.is("not-told-apart") && std::ranges::any_of(*seen, [&chosen](const Value& gpu) {
               return std::ranges::find(chosen, *gpu.as_string()) == chosen.end();
           });
}

/// Whether a reason about the chosen candidate is also a warning of the decision. Memory limits
/// matter only for a plan.
bool is_warned_of(const Reason& reason) {
    return reason.is("known-bad") && reason.detail.at("fault") != to_value(Fault::Memory);
}

/// Returns warnings if the program might not use the chosen GPU, or if the choice is known to be
/// bad.
std::vector<Reason> warnings_of(const SelectQuestion& question,
                                const Judged& best,
                                const Selection& selection,
                                const std::vector<Judged>& all,
                                const Decision& decision) {
    std::vector<Reason> warnings;
    const auto access = access_of(question.profile);
    for (const auto& judged : all) {
        if (judged.candidate.backend != best.candidate.backend ||
            std::ranges::find(selection.gpus, judged.gpu) == selection.gpus.end())
            continue;
        std::ranges::copy_if(
            judged.candidate.reasons, std::back_inserter(warnings),
            [&decision](const Reason& reason) { return shows_others(reason, decision.gpus); });
        std::ranges::copy_if(judged.candidate.reasons, std::back_inserter(warnings), is_warned_of);
        std::ranges::move(hidden_by(question.callers_environment, access, best.candidate.backend,
                                    *judged.gpu, selection, decision.environment),
                          std::back_inserter(warnings));
    }
    return warnings;
}

/// The warning about unused GPUs if the CPU was chosen; nullopt if a GPU candidate was accepted.
std::optional<Reason> unused_by_backends(const SelectQuestion& question,
                                         const std::vector<Judged>& all) {
    UnusedGpu unused;
    for (const auto& judged : all) {
        if (judged.gpu && is_accepted(judged))
            return std::nullopt;
        if (judged.gpu && !judged.is_accelerator)
            unused.add(*judged.gpu, question.word_for(judged.candidate.backend),
                       judged.candidate.reasons);
    }
    return unused.warning();
}

/// Builds the decision from the candidates of one attempt.
Decision decision_from(const SelectQuestion& question, const Attempt& made, const Report& report) {
    Decision decision{.application = question.profile.name, .generation = report.generation};
    Selection selection{.report = report};
    Facts::Subject subject{.report = report, .backend_word = ""};
    const auto* best = made.best(question);
    if (best) {
        selection.gpus = group_of(question, *best, made.all);
        decision.backend = question.word_for(best->candidate.backend);
        decision.environment = environment_on(question, *best, selection);
        subject.gpu = best->gpu;
        subject.backend = best->candidate.backend;
        subject.backend_word = decision.backend;
        subject.variant = best->candidate.variant ? best->candidate.variant : question.variant;
    } else {
        // If nothing was chosen, the environment hides every GPU.
        decision.environment = environment_of(question.profile, kCpu, selection,
                                              answers_on(question, nullptr, selection));
        hide_additions(access_of(question.profile), question.callers_environment,
                       decision.environment);
    }
    for (const auto* gpu : selection.gpus)
        decision.gpus.push_back(gpu->id);
    if (best)
        decision.warnings = warnings_of(question, *best, selection, made.all, decision);
    // The choice is the CPU, so report the GPU that is closest to being accepted.
    if (auto unused = best && !best->gpu ? unused_by_backends(question, made.all) : std::nullopt)
        decision.warnings.push_back(*std::move(unused));
    decision.summary = summary_of(question, made.detected, decision.backend);
    decision.answers = answers_of(question.profile, Facts{subject}, selection);
    // Answers such as FFmpeg's options name the GPU, so the program uses no other GPU.
    if (selection.gpus.empty() || decision.answers.empty())
        std::ranges::move(
            not_hidden(question.profile, best ? best->candidate.backend : kCpu, selection),
            std::back_inserter(decision.warnings));
    return decision;
}

/// Whether the request describes a build.
bool describes_build(const SelectRequest& request) {
    return request.own_build || request.built || !request.variants.empty() ||
           !(request.installed == DescribedBuild{});
}

/// The published variants of an application on one machine, with all data for judging them.
class VariantsHere {
public:
    /// `request` is an administrator's rule about variants; null if there is no such rule.
    VariantsHere(const Profile& profile,
                 const Manifest& manifest,
                 const Report& report,
                 const Experience& experience,
                 const RecommendRequest* request)
        : manifest_{manifest},
          machine_{machine_facts(report, Rules::current())},
          request_{request ? *request : RecommendRequest{}},
          failed_{failed_variants(experience, &profile)} {
        if (const auto* platform = platform_for(manifest, machine_.host))
            here_.emplace(PublishedVariants{*platform, machine_, request_, failed_});
    }

    /// The variants for this platform; null if the manifest has no variants for it.
    [[nodiscard]] const PublishedVariants* here() const { return here_ ? &*here_ : nullptr; }

    /// Adds the variant that the decision assumes, or the reason why the decision assumes no
    /// variant.
    void note(const Attempt& made, Decision& decision) const {
        if (made.assumed)
            decision.assumes = AssumedVariant{
                .variant = made.assumed->name,
                .version = made.assumed->version ? made.assumed->version : manifest_.version};
        // If the choice is the CPU, the variant's requirements for GPUs do not matter.
        if (!decision.gpus.empty())
            std::ranges::copy(made.variant_lacks, std::back_inserter(decision.warnings));
        // The warning about an unused GPU has the same reasons.
        const bool is_said = has_reason(decision.warnings, "gpu-unused") && made.variant_warning &&
                             made.variant_warning->is("better-if-built");
        if (made.variant_warning && !is_said)
            decision.warnings.push_back(*made.variant_warning);
        if (!here_)
            decision.warnings.push_back(because(
                "no-published-variant",
                {{"reasons", to_value(std::vector{other_platform(manifest_, machine_.host)})}}));
    }

private:
    const Manifest& manifest_;
    MachineFacts machine_;
    RecommendRequest request_;
    std::vector<FailedVariant> failed_;
    std::optional<PublishedVariants> here_ = {};
};

/// The inputs of a decision in addition to the profile, the request and the report.
struct Background {
    const Experience& experience;
    const Manifest* manifest = nullptr;
    const RecommendRequest* variants = nullptr;  ///< an administrator's rule about variants
    const Report* gpus_only = nullptr;  ///< the machine without accelerators; null if simulated
};

/// Assumes the variant of the chosen accelerator instead of the best variant for GPUs.
void assume_variant_of(const Judged& best, const SelectQuestion& question, Attempt& made) {
    made.assumed = nullptr;
    made.variant_lacks.clear();
    if (question.published)
        for (const auto& variant : question.published->platform.variants)
            if (variant.name == best.candidate.variant)
                made.assumed = &variant;
}

/// Makes a decision for `report`, which is the machine's report or a simulated report.
Result<Decision> decided(const Profile& profile,
                         const SelectRequest& request,
                         const Report& report,
                         const Background& known,
                         bool is_simulated) {
    auto question = TRY(question_from(profile, request, report, known.experience, known.manifest));
    question.is_simulated = is_simulated;
    std::optional<VariantsHere> variants;
    if (known.manifest && !is_simulated && !describes_build(request) && !is_switched_off(request)) {
        variants.emplace(profile, *known.manifest, known.gpus_only ? *known.gpus_only : report,
                         known.experience, known.variants);
        question.published = variants->here();
    }
    auto made = attempt_or_give_up(question, request, report);
    // Compute environments after verdicts, because environments depend on which candidates were
    // accepted.
    add_environments(question, report, made.all);
    auto decision = decision_from(question, made, report);
    if (const auto* best = made.best(question); best && best->is_accelerator)
        assume_variant_of(*best, question, made);
    if (variants)
        variants->note(made, decision);
    decision.messages = messages_of({.question = question,
                                     .request = request,
                                     .report = report,
                                     .all = made.all,
                                     .detected = made.detected,
                                     .decision = decision,
                                     .was_given_up = made.was_given_up});
    // candidates_of() moves the candidates, so the call must come last.
    decision.candidates = candidates_of(question, std::move(made.all), request.include_rejected);
    return decision;
}

/// The request; if its `backend` is the name of a variant, that variant becomes the installed
/// variant.
SelectRequest with_named_variant(const Profile& profile,
                                 SelectRequest request,
                                 const Report& report,
                                 const Manifest* manifest) {
    if (!manifest || !request.backend || is_switched_off(request) || describes_build(request) ||
        backend_named(profile, *request.backend))
        return request;
    const Facts host{{.report = report}};
    const auto* platform = platform_for(*manifest, host);
    if (!platform || (profile.requests && profile.requests->contains(*request.backend)))
        return request;
    for (const auto& variant : platform->variants)
        if (lower_case(variant.name) == *request.backend) {
            request.variants = {variant.name};
            request.backend.reset();
            break;
        }
    return request;
}

/// The error for a forbidden simulation, with the profile's message if it has one.
Error fake_forbidden(const Profile& profile) {
    const auto text = message_for(profile, "fake-forbidden", "", no_fact);
    return Error{ErrorCode::InvalidRequest,
                 text.value_or("request: fake: forbidden by \"forbid-fake\"")};
}

/// Whether GPUs are simulated; strict requests ignore `fake`.
bool makes_gpus_up(const Profile& profile, const SelectRequest& request) {
    return request.fake && !request.strict.value_or(profile.strict);
}

}  // namespace

bool is_switched_off(const SelectRequest& request) {
    return request.backend == "none" || request.backend == "off";
}

bool rests_on_profile_alone(const Profile& profile, const SelectRequest& request) {
    return is_switched_off(request) || makes_gpus_up(profile, request) ||
           (request.platform && profile.platforms.contains(*request.platform));
}

Result<Decision> select(const Profile& profile,
                        const SelectRequest& request,
                        const Report& report,
                        const Experience& experience,
                        const Manifest* manifest,
                        const RecommendRequest* variants) {
    if (request.fake && request.forbid_fake)
        return fake_forbidden(profile);
    // Another platform cannot be probed, so only the profile decides.
    if (request.platform && request.platform != platform_of(report.host)) {
        auto decision = decision_for_platform(profile, request, *request.platform);
        decision.generation = report.generation;
        return decision;
    }
    Background known{experience, manifest, variants};
    if (makes_gpus_up(profile, request))
        return decided(profile, request, simulated_report(profile, *request.fake, report), known,
                       true);
    // SelectionMachine replaces partitioned GPUs with their partitions, and adds accelerators.
    const SelectionMachine machine{profile, report};
    known.gpus_only = &machine.gpus_only();
    return decided(profile, with_named_variant(profile, request, report, manifest),
                   machine.report(), known, false);
}

}  // namespace gpuprobe::inline policy
