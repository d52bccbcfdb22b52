// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/gpu_selection.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

constexpr char kAnswerMark = '=';  // "{=capability}"

/// The rule with all facts filled in; nullopt if a fact is unknown, because a rule
/// is applied completely or not at all.
template <class Lookup>
std::optional<Variables> filled_by(const EnvironmentRule& rule, const Lookup& fact) {
    Variables variables;
    for (const auto& [variable, text] : rule) {
        auto value = filled_template(text, fact);
        if (!value)
            return std::nullopt;
        variables.emplace(variable, std::move(*value));
    }
    return variables;
}

/// Whether the environment already sets a variable of the rule.
bool sets_any_of(const Variables& environment, const EnvironmentRule& rule) {
    return std::ranges::any_of(
        rule, [&](const auto& entry) { return environment.contains(entry.first); });
}

/// The variables from the profile's rules for the backend; each rule is applied completely or not
/// at all.
Variables own_rules(const Profile& profile,
                    std::string_view backend,
                    const Selection& selection,
                    const Variables& answers) {
    Variables environment;
    const auto rules = profile.environment.find(std::string{backend});
    if (rules == profile.environment.end())
        return environment;
    // A name of the form "=NAME" refers to an answer, and any other name refers to a selector fact.
    const auto fact = [&](std::string_view name) -> std::optional<std::string> {
        if (!name.starts_with(kAnswerMark))
            return selector_fact(name, selection);
        const auto answer = answers.find(std::string{name.substr(1)});
        return answer == answers.end() ? std::nullopt : std::optional{answer->second};
    };
    // Earlier rules take precedence.
    for (const auto& rule : rules->second)
        if (!sets_any_of(environment, rule))
            if (auto variables = filled_by(rule, fact))
                environment.merge(*variables);
    return environment;
}

/// Whether the application reads all variables of the rule.
bool can_read(const std::set<std::string, std::less<>>& variables, const EnvironmentRule& rule) {
    return std::ranges::all_of(rule,
                               [&](const auto& entry) { return variables.contains(entry.first); });
}

/// The version of the machine's Vulkan loader; nullopt if the version is unknown.
std::optional<Version> vulkan_loader_version(const Report& report) {
    const auto found = report.runtimes.find("vulkan");
    const bool is_known = found != report.runtimes.end() && found->second.version;
    return is_known ? leading_version(*found->second.version) : std::nullopt;
}

/// Whether the machine's versions are known to be new enough for the row.
bool is_supported(const knowledge::UseRow& row, const Selection& selection) {
    const auto reaches = [](const std::optional<Version>& have,
                            const std::optional<Version>& need) {
        return !need || (have && *have >= *need);
    };
    const auto since = row.since.value_or(knowledge::Since{});
    if (since.mesa && lacks_device_select(selection.report))
        return false;
    if (since.opencl_loader && opencl_loader(selection.report) != since.opencl_loader)
        return false;
    return reaches(vulkan_loader_version(selection.report), since.vulkan_loader) &&
           std::ranges::all_of(selection.gpus, [&](const Gpu* gpu) {
               return reaches(mesa_version(*gpu), since.mesa);
           });
}

/// Adds the best row that selects the GPUs through the API, for an application that reads
/// `variables`. Adds nothing if some of the row's variables are already set.
void use(std::string_view api,
         const std::set<std::string, std::less<>>& variables,
         const Selection& selection,
         Preferences preferences,
         Variables& environment) {
    for (const auto& row : knowledge::Selectors::current().uses()) {
        if (row.api != api || row.variables.empty() || !can_read(variables, row.variables) ||
            !can_read(variables, row.environment) || !is_supported(row, selection))
            continue;
        // If a variable is already set, a rule of the profile has selected the GPUs.
        if (sets_any_of(environment, row.variables))
            return;
        auto selects = filled(row.variables, selection);
        auto beside = filled(row.environment, selection);
        // If a fact is unknown for this selection, or if a variable is already set, try the next
        // row.
        if (!selects || !beside || sets_any_of(environment, *beside))
            continue;
        environment.merge(*selects);
        if (row.kind != SelectorKind::Part || preferences == Preferences::Included)
            environment.merge(*beside);
        return;
    }
}

/// Whether hiding all devices in the reader's API would also hide the selected GPUs in `api`.
bool reaches_selection(const knowledge::Reader& reader,
                       std::string_view api,
                       const Selection& selection) {
    const auto* own = find_api(reader.api);
    return own && std::ranges::find(reader.reaches, api) != reader.reaches.end() &&
           std::ranges::any_of(selection.gpus,
                               [own](const Gpu* gpu) { return gpu->vendor == own->vendor; });
}

/// Hides the devices in all other APIs that the application reads. If the variables of an API would
/// also hide the selected GPUs in `api`, the variables select these GPUs instead.
void hide_others(const Access& access,
                 std::string_view api,
                 const Selection& selection,
                 Variables& environment) {
    for (const auto* reader : access.readers) {
        if (reader->api == api)
            continue;
        if (reaches_selection(*reader, api, selection))
            use(reader->api, {reader->reads.begin(), reader->reads.end()}, selection,
                Preferences::Included, environment);
        else
            environment.insert(reader->hide.begin(), reader->hide.end());
    }
}

/// Adds a reader, and the variables that it reads.
void add_reader(const knowledge::Reader& reader, Access& access) {
    access.readers.push_back(&reader);
    access.variables.insert(reader.reads.begin(), reader.reads.end());
}

/// Whether the profile implies the reader, because a backend uses the reader's library. Readers
/// with names such as "ggml-…" also need a variable that the profile names or sets.
bool is_implied(const knowledge::Reader& reader, const Profile& profile, const Access& access) {
    const bool has_api = std::ranges::any_of(profile.backends, [&](const std::string& backend) {
        return api_below(backend) == reader.api;
    });
    const bool is_library = !reader.name.starts_with("ggml-");
    return has_api && (is_library || access.variables.contains(reader.reads.front()));
}

}  // namespace

std::optional<std::string> filled(std::string_view text, const Selection& selection) {
    return filled_template(
        text, [&selection](std::string_view name) { return selector_fact(name, selection); });
}

std::optional<Variables> filled(const EnvironmentRule& rule, const Selection& selection) {
    return filled_by(
        rule, [&selection](std::string_view name) { return selector_fact(name, selection); });
}

Access access_of(const Profile& profile) {
    Access access;
    const auto& document = knowledge::Selectors::current();
    // Variables that are passed on count as read, because a container or child process reads them.
    access.variables.insert(profile.forwards.begin(), profile.forwards.end());
    if (profile.reads) {
        for (const auto& word : *profile.reads)
            if (const auto* reader = document.find(word))
                add_reader(*reader, access);
            else
                access.variables.insert(word);
        return access;
    }
    for (const auto& [backend, rules] : profile.environment)
        for (const auto& rule : rules)
            for (const auto& [variable, text] : rule)
                access.variables.insert(variable);
    // ggml's readers depend only on variables from the profile, not on other readers that the
    // profile implies.
    const auto named = access;
    for (const auto& reader : document.readers())
        if (is_implied(reader, profile, named))
            add_reader(reader, access);
    return access;
}

bool is_environment_fact(const Profile& profile, std::string_view name) {
    return name.starts_with(kAnswerMark) ? profile.answers.contains(std::string{name.substr(1)})
                                         : is_selector_fact(name);
}

Variables environment_of(const Profile& profile,
                         std::string_view backend,
                         const Selection& selection,
                         const Variables& answers,
                         Preferences preferences) {
    const auto access = access_of(profile);
    const auto api = api_below(backend);
    auto environment = own_rules(profile, backend, selection, answers);
    if (!api.empty() && !selection.gpus.empty())
        use(api, access.variables, selection, preferences, environment);
    hide_others(access, api, selection, environment);
    return environment;
}

namespace {

/// Whether the API lists the GPU.
bool is_shown(const Gpu& gpu, const std::string& api) {
    const auto view = gpu.apis.find(api);
    return view != gpu.apis.end() && view->second.device.is_object();
}

/// Whether the profile uses the API on GPUs from the vendor.
bool is_used_on(const Profile& profile, const std::string& api, const Gpu& gpu) {
    auto allowed = profile.vendors.find(gpu.vendor.value_or(std::string{kAnyVendor}));
    if (allowed == profile.vendors.end())
        allowed = profile.vendors.find(std::string{kAnyVendor});
    const auto& backends = allowed == profile.vendors.end() ? profile.backends : allowed->second;
    return std::ranges::any_of(
        backends, [&api](const std::string& backend) { return api_below(backend) == api; });
}

/// The ids of the GPUs outside the selection that the application can open through the API. A GPU
/// that wasn't probed through the API is also in the list, because the API might list the GPU.
std::set<std::string> others_in(const std::string& api,
                                const Profile& profile,
                                const Selection& selection) {
    std::set<std::string> gpus;
    for (const auto& gpu : selection.report.gpus) {
        const bool is_listed =
            is_shown(gpu, api) || (!gpu.apis.contains(api) && gpu.kind != GpuKind::DisplayOnly);
        if (is_listed && is_used_on(profile, api, gpu) &&
            std::ranges::find(selection.gpus, &gpu) == selection.gpus.end())
            gpus.insert(gpu.id);
    }
    return gpus;
}

}  // namespace

std::vector<Reason> not_hidden(const Profile& profile,
                               std::string_view backend,
                               const Selection& selection) {
    const auto access = access_of(profile);
    // There is nothing to report: an installer does not read the variables of libraries, and the
    // profile's own variables for the backend can disable other backends.
    if (access.readers.empty() || profile.environment.contains(std::string{backend}))
        return {};
    std::set<std::string> told{std::string{api_below(backend)}, ""};
    for (const auto& reader : knowledge::Selectors::current().readers())
        if (!reader.hide.empty())
            told.insert(reader.api);
    std::vector<Reason> reasons;
    for (const auto& other : profile.backends) {
        const std::string api{api_below(other)};
        if (!told.insert(api).second)
            continue;
        if (const auto gpus = others_in(api, profile, selection); !gpus.empty())
            reasons.push_back(
                because("not-hidden",
                        {{"api", api},
                         {"gpus", to_value(std::vector<std::string>{gpus.begin(), gpus.end()})}}));
    }
    return reasons;
}

namespace {

/// The selector that a row describes; nullopt if a fact is unknown, or if the row needs a single
/// device name but several partitions are selected.
std::optional<GpuSelector> made(const knowledge::UseRow& row, const Selection& selection) {
    if (row.kind == SelectorKind::Part || (selection.gpus.size() != 1 && row.argument) ||
        !is_supported(row, selection))
        return std::nullopt;
    auto variables = filled(row.variables, selection);
    auto argument = row.argument ? filled(*row.argument, selection) : std::nullopt;
    auto environment = filled(row.environment, selection);
    if (!variables || !environment || argument.has_value() != row.argument.has_value())
        return std::nullopt;
    return GpuSelector{.api = row.api,
                       .kind = row.kind,
                       .variables = std::move(*variables),
                       .argument = std::move(argument),
                       .environment = std::move(*environment)};
}

/// All selectors for the selected GPUs.
std::vector<GpuSelector> selectors_of(const Selection& selection) {
    std::vector<GpuSelector> selectors;
    for (const auto& row : knowledge::Selectors::current().uses())
        if (auto selector = made(row, selection))
            selectors.push_back(std::move(*selector));
    return selectors;
}

using Variables = std::map<std::string, std::string>;

bool is_variable_name(std::string_view text) {
    const auto is_letter = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && is_letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool can_be_set(const Variables& variables) {
    return std::ranges::all_of(
        variables, [](const auto& entry) { return is_settable(entry.first, entry.second); });
}

/// Whether the API may list the GPU although the last probe did not list it, for example because
/// the GPU sleeps or the driver crashed.
bool is_open(const Gpu& gpu, const std::string& api) {
    const auto* row = find_api(api);
    const auto backend = row ? gpu.backends.find(std::string{row->backend}) : gpu.backends.end();
    return !is_shown(gpu, api) && backend != gpu.backends.end() && !backend->second.usable;
}

/// Whether the API lists other GPUs of this machine, but not this GPU. GPUs that the API might list
/// also count, unless this GPU is one of them.
bool shows_only_others(const Report& report, const Gpu& gpu, const std::string& api) {
    const bool is_certain = !is_open(gpu, api);
    return !is_shown(gpu, api) && std::ranges::any_of(report.gpus, [&](const Gpu& other) {
        return !goes_by(other, gpu.id) &&
               (is_shown(other, api) || (is_certain && is_open(other, api)));
    });
}

/// Whether the variables that hide the devices of one API would also hide this GPU in an API that
/// is used.
bool hides_too_much(const knowledge::Reader& reader,
                    const Gpu& gpu,
                    const std::set<std::string_view>& used) {
    const auto* api = find_api(reader.api);
    return api && gpu.vendor == api->vendor &&
           std::ranges::any_of(reader.reaches, [&used](const std::string& reached) {
               return used.contains(reached);
           });
}

/// Whether all programs that use the selector's API read at least one of its variables. In OpenCL,
/// not all programs read ggml's variables; for Vulkan, see seen_beside().
bool is_read_by_all(const GpuSelector& selector) {
    const auto* reader = knowledge::Selectors::current().find(selector.api);
    return selector.api == "vulkan" || !reader ||
           std::ranges::any_of(selector.variables, [reader](const auto& entry) {
               return std::ranges::find(reader->reads, entry.first) != reader->reads.end();
           });
}

/// Whether the variables hide all devices from the reader.
bool hides_all(const Variables& variables, const knowledge::Reader& reader) {
    return !reader.hide.empty() && std::ranges::all_of(reader.hide, [&](const auto& entry) {
        const auto found = variables.find(entry.first);
        return found != variables.end() && found->second == entry.second;
    });
}

/// Whether the variables, which select a GPU in the APIs that are used, hide the GPU `other` in
/// `api`. A selection in the API of a vendor can also restrict other APIs to the selected GPU.
bool is_hidden(const Gpu& other,
               std::string_view api,
               const std::set<std::string_view>& used,
               const Variables& variables) {
    return used.contains(api) ||
           std::ranges::any_of(
               knowledge::Selectors::current().readers(), [&](const knowledge::Reader& reader) {
                   const bool is_empty = hides_all(variables, reader);
                   if (reader.api == api)
                       return is_empty;
                   const auto* own = find_api(reader.api);
                   return (is_empty || used.contains(reader.api)) && own &&
                          own->vendor == other.vendor &&
                          std::ranges::find(reader.reaches, api) != reader.reaches.end();
               });
}

/// Whether no variable has different values in the two sets of variables.
bool agree(const Variables& left, const Variables& right) {
    return std::ranges::all_of(left, [&right](const auto& entry) {
        const auto found = right.find(entry.first);
        return found == right.end() || found->second == entry.second;
    });
}

}  // namespace

std::vector<GpuSelector> gpu_selectors(const Report& report, const Gpu& gpu) {
    const ComputeView view{report};
    Selection all{.report = view.report()};
    // In the view, a partitioned GPU is represented by its partitions.
    for (const auto& one : view.report().gpus)
        if (goes_by(one, gpu.id))
            all.gpus.push_back(&one);
    auto selectors = selectors_of(all);
    if (!is_divided(gpu) || partition_of(gpu))
        return selectors;
    for (const auto* partition : all.gpus)
        for (auto& selector : selectors_of({.report = view.report(), .gpus = {partition}})) {
            selector.partition = partition_of(*partition)->name;
            selectors.push_back(std::move(selector));
        }
    return selectors;
}

bool is_settable(std::string_view name, std::string_view value) {
    // scrubbed() replaces unprintable characters, so a value that it does not change is printable.
    return is_variable_name(name) && scrubbed(value, value.size()) == value;
}

std::map<std::string, std::string> needs_of(const GpuSelector& selector) {
    auto needs = selector.environment;
    needs.insert(selector.variables.begin(), selector.variables.end());
    return needs;
}

std::vector<const GpuSelector*> chosen_selectors(const std::vector<GpuSelector>& selectors) {
    std::vector<const GpuSelector*> chosen;
    Variables set;
    for (const auto& selector : selectors) {
        const auto needs = needs_of(selector);
        const bool is_first = std::ranges::none_of(
            chosen, [&selector](const auto* other) { return other->api == selector.api; });
        // Skip selectors that set no variables, can't be set, or conflict with earlier selectors.
        if (!is_first || selector.partition || selector.variables.empty() || !can_be_set(needs) ||
            !agree(needs, set))
            continue;
        set.insert(needs.begin(), needs.end());
        chosen.push_back(&selector);
    }
    return chosen;
}

std::map<std::string, std::string> environment_for(const Report& report, const Gpu& gpu) {
    const auto selectors = gpu_selectors(report, gpu);
    std::set<std::string_view> used;
    Variables variables;
    for (const auto* selector : chosen_selectors(selectors)) {
        used.insert(selector->api);
        variables.merge(needs_of(*selector));
    }
    // If this GPU cannot be selected, hiding the other GPUs would be useless and even harmful.
    if (variables.empty())
        return variables;
    for (const auto& reader : knowledge::Selectors::current().readers())
        if (!used.contains(reader.api) && !hides_too_much(reader, gpu, used) &&
            shows_only_others(report, gpu, reader.api))
            variables.insert(reader.hide.begin(), reader.hide.end());
    return variables;
}

std::vector<std::string> seen_beside(const Report& report, const Gpu& gpu) {
    constexpr const char* kApi = "vulkan";
    const auto* reader = knowledge::Selectors::current().find(kApi);
    if (!reader || !is_shown(gpu, kApi))
        return {};
    const std::set<std::string, std::less<>> reads{reader->reads.begin(), reader->reads.end()};
    const auto variables_for = [&](const Gpu& one) {
        Variables variables;
        use(kApi, reads, {.report = report, .gpus = {&one}}, Preferences::LeftOut, variables);
        return variables;
    };
    const auto own = variables_for(gpu);
    std::vector<std::string> others;
    for (const auto& other : report.gpus)
        if (other.id != gpu.id && is_shown(other, kApi) &&
            (own.empty() || variables_for(other) == own))
            others.push_back(other.id);
    return others;
}

std::vector<VisibleGpus> not_hidden(const Report& report, const Gpu& gpu) {
    const auto selectors = gpu_selectors(report, gpu);
    const auto variables = environment_for(report, gpu);
    std::set<std::string_view> used;
    for (const auto* selector : chosen_selectors(selectors))
        if (is_read_by_all(*selector))
            used.insert(selector->api);
    std::vector<VisibleGpus> visible;
    for (const auto& api : kApis) {
        // Only an API with a backend can be used to compute. Programs use NVDEC and NVENC on a CUDA
        // device.
        if (api.backend.empty() && (!api.reports_video || !api.vendor.empty()))
            continue;
        VisibleGpus others{.api = api.word};
        for (const auto& other : report.gpus)
            if (!goes_by(other, gpu.id) && is_shown(other, std::string{api.word}) &&
                !is_hidden(other, api.word, used, variables))
                others.gpus.push_back(other.id);
        if (!others.gpus.empty())
            visible.push_back(std::move(others));
    }
    return visible;
}

}  // namespace gpuprobe::inline policy
