// SPDX-License-Identifier: Apache-2.0
#include "decide/judge.h"

#include <algorithm>
#include <tuple>

#include "decide/backend_words.h"

namespace gpuprobe {
namespace {

/// Collects reasons; the gravest one makes the verdict.
class Trial {
public:
    Trial(const std::string& backend, const Gpu* gpu) : judged_{.gpu = gpu} {
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
    void remark(Reason reason) { judged_.candidate.reasons.push_back(std::move(reason)); }
    [[nodiscard]] Judged end() && { return std::move(judged_); }

private:
    Judged judged_;
};

Value words_of(const Terms& terms, const std::set<std::string>& backends) {
    Value::Array words;
    for (const auto& backend : backends)
        words.push_back(Value{terms.word_for(backend)});
    return Value{std::move(words)};
}

/// What profile and request say about the backend, whatever the GPU.
void try_backend(const Terms& terms, const std::string& backend, Trial& trial) {
    if (terms.built && !terms.built->contains(backend))
        trial.reject(because("not-built", {{"built", words_of(terms, *terms.built)}}));
    if (terms.denied.contains(backend))
        trial.reject(because("denied", {{"backend", terms.word_for(backend)}}));
    if (terms.only && !terms.only->contains(backend))
        trial.reject(because("not-requested", {{"requested", words_of(terms, *terms.only)}}));
}

/// What the report says: the reasons are the report's own.
void try_facts(const std::string& backend, const Gpu& gpu, Trial& trial) {
    const auto found = gpu.backends.find(backend);
    if (found == gpu.backends.end())
        return trial.doubt(because("not-probed", {{"api", api_of(backend)}}));
    const auto& view = found->second;
    for (const auto& why : view.reasons)
        if (view.usable == true)
            trial.remark(why);
        else if (view.usable == false)
            trial.reject(why);
        else
            trial.doubt(why);
    if (view.usable == false && view.reasons.empty())
        trial.reject(because("not-usable"));
    if (!view.usable && view.reasons.empty())
        trial.doubt(because("not-probed", {{"api", api_of(backend)}}));
    if (view.usable != false && gpu.health != "ok")
        trial.remark(because("unhealthy", {{"health", gpu.health}}));
}

/// A profile's vendor rule says nothing new about a GPU that can't use the backend anyway.
void try_vendor(const Terms& terms, const std::string& backend, const Gpu& gpu, Trial& trial) {
    const auto found = gpu.backends.find(backend);
    if (found != gpu.backends.end() && found->second.usable == false)
        return;
    const auto allowed = terms.backends_for(gpu.vendor);
    if (std::ranges::find(allowed, backend) == allowed.end())
        trial.reject(because("not-in-profile-for-vendor",
                             {{"vendor", gpu.vendor ? Value{*gpu.vendor} : Value{}}}));
}

/// `allocatable` decides; where it is unknown, a board's own memory bounds it from above. (A
/// carve-out bounds nothing: the rest of the host's memory is behind it.)
void try_memory(const Terms& terms, const Gpu& gpu, Trial& trial) {
    if (!terms.min_memory)
        return;
    const auto need = *terms.min_memory;
    const auto known = gpu.memory.allocatable ? gpu.memory.allocatable : offered_memory(gpu.memory);
    if (known && *known < need)
        trial.reject(because("too-little-memory",
                             {{"have", known->count},
                              {"need", need.count},
                              {"of", gpu.memory.allocatable ? "allocatable" : "physical"}}));
    else if (!gpu.memory.allocatable)
        trial.doubt(because("memory-unknown", {{"need", need.count}}));
}

void try_gpu(const Terms& terms, const Gpu& gpu, Trial& trial) {
    if (terms.denied_gpus.contains(gpu.id))
        trial.reject(because("denied", {{"gpu", gpu.id}}));
    if (terms.gpus && !terms.gpus->contains(gpu.id))
        trial.reject(because("not-requested",
                             {{"requested", to_value(std::vector<std::string>(
                                                terms.gpus->begin(), terms.gpus->end()))}}));
    if (gpu.kind == GpuKind::Integrated && terms.profile.integrated == IntegratedPolicy::Never)
        trial.reject(because("integrated-not-allowed"));
    try_memory(terms, gpu, trial);
}

/// Whoever tried and failed knows better than any probe.
void try_experience(const Terms& terms, const std::string& backend, const Gpu* gpu, Trial& trial) {
    for (const auto& failure : terms.failures)
        if (failure.backend == backend && (!failure.gpu || (gpu && *failure.gpu == gpu->id)))
            trial.reject(because("reported-failed",
                                 {{"detail", failure.detail}, {"at_usec", to_value(failure.at)}}));
}

bool can_use(const Gpu& gpu, const std::string& backend) {
    const auto found = gpu.backends.find(backend);
    return gpu.kind != GpuKind::DisplayOnly && found != gpu.backends.end() &&
           found->second.usable == true;
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
        return std::tie(device->name, device->driver);
    });
    return devices;
}

/// What became of an API that has no device here; empty when it just has none.
std::string_view code_of(const RuntimeInfo& runtime) {
    switch (runtime.outcome) {
        case Outcome::Answered:
            return "";
        case Outcome::Absent:
            return runtime.loader ? "" : "loader-missing";
        case Outcome::Failed:
            return "driver-failed";
        case Outcome::TimedOut:
            return "driver-timed-out";
        case Outcome::Crashed:
            return "driver-crashed";
        case Outcome::Skipped:
            return "skipped";
    }
    return "";
}

Judged judge_absence(const Terms& terms, const std::string& backend, const Report& report) {
    const auto api = api_of(backend);
    Trial trial{backend, nullptr};
    trial.reject(because("no-gpu", {{"api", api}}));
    const auto runtime = report.runtimes.find(std::string{api});
    if (runtime != report.runtimes.end())
        if (const auto code = code_of(runtime->second); !code.empty())
            trial.reject(because(std::string{code}, {{"api", api}}));
    try_backend(terms, backend, trial);
    return std::move(trial).end();
}

}  // namespace

void Judged::reject(Reason reason) {
    candidate.verdict = Verdict::Rejected;
    candidate.reasons.push_back(std::move(reason));
}

Judged judge(const Terms& terms, const std::string& backend, const Gpu& gpu) {
    Trial trial{backend, &gpu};
    if (gpu.kind == GpuKind::DisplayOnly) {
        trial.reject(because("display-only", {{"driver", text_or_null(gpu.driver.name)}}));
        return std::move(trial).end();
    }
    try_facts(backend, gpu, trial);
    try_vendor(terms, backend, gpu, trial);
    try_backend(terms, backend, trial);
    try_gpu(terms, gpu, trial);
    try_experience(terms, backend, &gpu, trial);
    return std::move(trial).end();
}

std::vector<Judged> judge_without_gpu(const Terms& terms,
                                      const std::string& backend,
                                      const Report& report) {
    const auto uses = [&backend](const Gpu& gpu) { return can_use(gpu, backend); };
    if (std::ranges::any_of(report.gpus, uses))
        return {};
    std::vector<Judged> candidates;
    for (const auto* device : software_for(api_of(backend), report)) {
        Trial trial{backend, nullptr};
        trial.reject(because("software-rasterizer", {{"name", text_or_null(device->name)},
                                                     {"api", device->api},
                                                     {"driver", text_or_null(device->driver)}}));
        try_backend(terms, backend, trial);
        candidates.push_back(std::move(trial).end());
    }
    if (candidates.empty() && report.gpus.empty())
        candidates.push_back(judge_absence(terms, backend, report));
    return candidates;
}

Judged judge_cpu(const Terms& terms) {
    const std::string cpu{kCpu};
    Trial trial{cpu, nullptr};
    if (terms.profile.cpu == CpuPolicy::Forbid)
        trial.reject(because("cpu-forbidden"));
    try_backend(terms, cpu, trial);
    try_experience(terms, cpu, nullptr, trial);
    return std::move(trial).end();
}

}  // namespace gpuprobe
