// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "plan/size_math.h"

namespace gpuprobe::inline cli {
namespace {

Tone tone_of(Fit fit) {
    switch (fit) {
        case Fit::Fits:
            return Tone::Good;
        case Fit::No:
            return Tone::Bad;
        default:
            return Tone::Unsure;
    }
}

std::string layers_text(const std::optional<LayerCount>& layers, const Screen& screen) {
    return layers ? fmt::format("{}/{}", layers->offloaded, layers->total)
                  : std::string{screen.dash()};
}

std::string context_text(const std::optional<std::uint64_t>& tokens, const Screen& screen) {
    return tokens ? std::to_string(*tokens) : std::string{screen.dash()};
}

/// The types of the KV cache, such as "f16", or "f16,q8_0" if keys and values have different types.
std::string cache_types(const RunShape& run) {
    return run.keys.id == run.values.id ? std::string{run.keys.name}
                                        : fmt::format("{},{}", run.keys.name, run.values.name);
}

/// The first line, such as "Llama 3.1 8B (llama, 32 layers) · context 4096 · cache f16 · batch
/// 512".
std::string headline(const PlanRequest& request, const Plan& plan, const Screen& screen) {
    if (!request.model)
        return size_text(*request.need);
    const auto& model = *request.model;
    const auto& run = request.run;
    std::vector<std::string> parts{
        plural(model.layers.size(), "{model} ({architecture}, {number} layer)",
               "{model} ({architecture}, {number} layers)",
               {{"model", toned(screen, Tone::Strong, model.name.value_or("unnamed model"))},
                {"architecture", model.architecture}}),
        phrase("context {tokens}", {{"tokens", std::to_string(run.context)}}),
        phrase("cache {types}", {{"types", cache_types(run)}}),
        phrase("batch {tokens}", {{"tokens", std::to_string(run.batch)}})};
    if (run.streams > 1)
        parts.push_back(plural(run.streams, "{number} stream", "{number} streams"));
    if (!plan.has_flash_attention)
        parts.emplace_back("no flash attention");
    return base::joined(parts, screen.dot());
}

/// The parts of the memory that a model needs.
std::string parts_text(const Plan& plan, const Screen& screen) {
    const auto& need = *plan.need;
    // The size of a context depends on the driver; show the largest size.
    Bytes overhead;
    for (const auto& gpu : plan.gpus)
        overhead = std::max(overhead, gpu.overhead);
    Table table{{{.title = "part"}, {.title = "size", .is_right_aligned = true}, {.title = ""}}};
    table.add({{.text = "weights of the layers"}, {.text = size_text(need.layers)}, {}});
    table.add({{.text = "weights of the output"}, {.text = size_text(need.output)}, {}});
    table.add({{.text = "KV cache"}, {.text = size_text(need.cache)}, {}});
    table.add({{.text = "computation"}, {.text = size_text(need.compute)}, {.text = "per GPU"}});
    if (need.projector.count > 0)
        table.add({{.text = "projector"},
                   {.text = size_text(need.projector)},
                   {.text = "on the first GPU"}});
    if (overhead.count > 0)
        table.add({{.text = "driver's context"},
                   {.text = size_text(overhead)},
                   {.text = "per GPU, at most"}});
    table.add({{.text = "embedding"},
               {.text = size_text(need.embedding)},
               {.text = "in the machine's memory"}});
    // The table needs no header, because each row explains itself.
    auto bare = screen;
    bare.has_legend = false;
    return table.text(bare, 2);
}

/// The table of GPUs. The columns for layers and context exist only if the plan is for a model.
std::string gpus_text(const PlanRequest& request, const Plan& plan, const Screen& screen) {
    std::vector<Column> columns{{.title = "GPU"},
                                {.title = "NAME", .may_shrink = true, .may_go = true},
                                {.title = "AVAILABLE", .is_right_aligned = true, .may_go = true},
                                {.title = "BUDGET", .is_right_aligned = true},
                                {.title = "NEED", .is_right_aligned = true},
                                {.title = "ANSWER"}};
    if (request.model) {
        columns.push_back({.title = "LAYERS", .is_right_aligned = true});
        columns.push_back({.title = "MAX CONTEXT", .is_right_aligned = true});
    }
    // GPUs that differ only in their id share a row.
    std::vector<std::pair<std::vector<Cell>, std::size_t>> rows;
    for (const auto& gpu : plan.gpus) {
        std::vector<Cell> row{{.text = gpu.gpu},
                              {.text = gpu.name.value_or(std::string{kUnknown})},
                              {.text = size_or_unknown(gpu.budget.available)},
                              {.text = size_or_unknown(gpu.budget.bytes)},
                              {.text = size_text(gpu.need)},
                              {.text = std::string{name_of(gpu.fit)}, .tone = tone_of(gpu.fit)}};
        if (request.model) {
            row.push_back({.text = layers_text(gpu.layers, screen)});
            row.push_back({.text = context_text(gpu.max_context, screen)});
        }
        const auto same = std::ranges::find_if(rows, [&row](const auto& known) {
            return std::equal(known.first.begin() + 1, known.first.end(), row.begin() + 1);
        });
        if (same == rows.end())
            rows.emplace_back(std::move(row), 1);
        else
            ++same->second;
    }
    Table table{columns};
    for (auto& [row, number] : rows) {
        row[0].text = first_of(row[0].text, number, screen);
        row[1].text = times_title(number, row[1].text);
        table.add(std::move(row));
    }
    return table.text(screen, 2);
}

/// The notes on the plan, then the reasons, each with the GPUs that have it.
std::string reasons_text(const Plan& plan, const Screen& screen) {
    std::string text;
    for (const auto& note : plan.notes)
        text += hanging(screen, "  ", 2, explained(note).text);
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    for (const auto& gpu : plan.gpus)
        for (const auto& reason : gpu.reasons) {
            auto why = explained(reason).text;
            const auto same = std::ranges::find(
                reasons, why, [](const auto& known) -> auto& { return known.first; });
            if (same == reasons.end())
                reasons.push_back({std::move(why), {gpu.gpu}});
            else
                same->second.push_back(gpu.gpu);
        }
    for (const auto& [why, gpus] : reasons) {
        const auto lead = "  " + first_and_more(gpus) + "  ";
        text += hanging(screen, lead, lead.size(), why);
    }
    return text.empty() ? text : "\n" + text;
}

/// The share of each GPU, such as "5.1 GiB on pci:0000:01:00.0 (20 layers), …". Leaves out GPUs
/// that hold nothing. GPUs with equal shares are listed together.
std::string shares_text(const SetPlan& set, bool has_layers) {
    /// A share as a size and a number of layers, and the GPUs that hold an equal share.
    struct Equal {
        std::string size = {};
        std::uint64_t layers = 0;
        std::vector<std::string> gpus = {};
    };
    std::vector<Equal> equal;
    for (const auto& share : set.shares) {
        if (share.need.count == 0)
            continue;
        const auto size = size_text(share.need);
        const auto same = std::ranges::find_if(equal, [&](const Equal& known) {
            return known.size == size && known.layers == share.layers;
        });
        if (same == equal.end())
            equal.push_back({size, share.layers, {share.gpu}});
        else
            same->gpus.push_back(share.gpu);
    }
    std::vector<std::string> shares;
    for (const auto& [size, layers, gpus] : equal) {
        const auto each = gpus.size() > 1 ? std::optional<std::string>{"each"} : std::nullopt;
        const auto gpu = first_and_more(gpus);
        shares.push_back(has_layers ? plural(layers, "{size}[ {each}] on {gpu} ({number} layer)",
                                             "{size}[ {each}] on {gpu} ({number} layers)",
                                             {{"size", size}, {"each", each}, {"gpu", gpu}})
                                    : phrase("{size}[ {each}] on {gpu}",
                                             {{"size", size}, {"each", each}, {"gpu", gpu}}));
    }
    return base::joined(shares, ", ");
}

/// The GPUs that hold a share, such as "2 GPUs", or "2 of 3 GPUs" if one GPU holds nothing.
std::string carriers_text(const SetPlan& set) {
    const auto carriers =
        std::ranges::count_if(set.shares, [](const Share& share) { return share.need.count > 0; });
    const auto all = std::ssize(set.gpus);
    const auto number = static_cast<std::uint64_t>(all);
    if (carriers == 0 || carriers == all)
        return plural(number, "{number} GPU", "{number} GPUs");
    return plural(number, "{carriers} of {number} GPU", "{carriers} of {number} GPUs",
                  {{"carriers", std::to_string(carriers)}});
}

/// The section "Together": the plans for several GPUs, by backend.
std::string together_text(const PlanRequest& request, const Plan& plan, const Screen& screen) {
    if (plan.together.empty())
        return "";
    std::string text = "\nTogether\n";
    for (const auto& set : plan.together) {
        const bool has_model = request.model.has_value();
        auto shares = shares_text(set, has_model);
        const auto line = phrase(
            has_model ? "{answer} on {gpus}, layers {layers}, max context {context}[: {shares}]"
                      : "{answer} on {gpus}[: {shares}]",
            {{"answer", std::string{name_of(set.fit)}},
             {"gpus", carriers_text(set)},
             {"layers", layers_text(set.layers, screen)},
             {"context", context_text(set.max_context, screen)},
             {"shares", shares.empty() ? std::nullopt : std::optional{std::move(shares)}}});
        const auto lead = fmt::format("  {}  ", set.backend);
        text += hanging(screen, lead, lead.size(), line, tone_of(set.fit));
    }
    return text;
}

/// The line about running without a GPU.
std::string host_text(const HostPlan& host, const Screen& screen) {
    const auto answer = toned(screen, tone_of(host.fit), name_of(host.fit));
    const auto sentence =
        host.available ? "Without a GPU: {answer}, {need} of the {available} of available memory"
                       : "Without a GPU: {answer}; {need} is needed";
    return "\n" +
           phrase(sentence,
                  {{"answer", answer},
                   {"need", size_text(host.need)},
                   {"available",
                    host.available ? std::optional{size_text(*host.available)} : std::nullopt}}) +
           "\n";
}

/// The plan that is converted to arguments of a program.
struct Choice {
    Fit fit = Fit::Unknown;
    std::uint64_t layers = 0;
    bool flash_attention = false;
    std::vector<const GpuPlan*> gpus = {};
    std::vector<std::uint64_t> shares = {};  ///< layers on each GPU
};

/// The rank of an answer. "tight" and "fits" have the same rank, because in both cases the whole
/// model fits.
int rank_of(Fit fit) {
    return fit == Fit::Fits || fit == Fit::Tight ? 1 : 0;
}

bool is_better(const Choice& left, const Choice& right) {
    return std::pair{rank_of(left.fit), left.layers} > std::pair{rank_of(right.fit), right.layers};
}

const GpuPlan* gpu_named(const Plan& plan, const std::string& id) {
    const auto found = std::ranges::find(plan.gpus, id, &GpuPlan::gpu);
    return found == plan.gpus.end() ? nullptr : &*found;
}

/// The best plan. A single GPU wins over several with the same result, because the model need not
/// be split.
Choice choice_of(const Plan& plan) {
    Choice best{.flash_attention = plan.has_flash_attention};
    for (const auto& gpu : plan.gpus) {
        Choice one{.fit = gpu.fit,
                   .layers = gpu.layers ? gpu.layers->offloaded : 0,
                   .flash_attention = gpu.flash_attention,
                   .gpus = {&gpu}};
        if (is_better(one, best))
            best = std::move(one);
    }
    for (const auto& set : plan.together) {
        Choice several{.fit = set.fit,
                       .layers = set.layers ? set.layers->offloaded : 0,
                       .flash_attention = set.flash_attention};
        for (const auto& share : set.shares) {
            several.gpus.push_back(gpu_named(plan, share.gpu));
            several.shares.push_back(share.layers);
        }
        if (is_better(several, best))
            best = std::move(several);
    }
    return best;
}

/// The error for a plan that a program can't run.
Error cannot(std::string_view program, std::string_view what) {
    return {ErrorCode::InvalidRequest, fmt::format("plan: {} {}", program, what)};
}

/// Arguments for llama.cpp. llama.cpp's context size is the sum over all streams. Source:
/// common/arg.cpp of llama.cpp v0.5.0.
std::string for_llama_cpp(const PlanRequest& request, const Choice& choice) {
    const auto& run = request.run;
    auto text = fmt::format(
        "--n-gpu-layers {} --ctx-size {} --batch-size {} --ubatch-size {} --parallel {} "
        "--cache-type-k {} --cache-type-v {} --flash-attn {}",
        choice.layers, product(run.context, run.streams), std::max<std::uint64_t>(run.batch, 2048),
        run.batch, run.streams, run.keys.name, run.values.name,
        choice.flash_attention ? "on" : "off");
    if (run.streams > 1)
        text += " --no-kv-unified";
    if (run.keeps_whole_windows)
        text += " --swa-full";
    if (choice.gpus.size() == 1)
        text += " --split-mode none";
    if (choice.gpus.size() > 1)
        text += fmt::format(" --split-mode layer --tensor-split {}", fmt::join(choice.shares, ","));
    return text + "\n";
}

/// Variables for ollama. ollama has no variables for the parameters of a model, so the parameters
/// are printed as lines for the Modelfile. Source: envconfig/config.go and docs/modelfile.mdx of
/// ollama at fb307609.
Result<std::string> for_ollama(const PlanRequest& request, const Choice& choice) {
    const auto& run = request.run;
    constexpr auto kTypes = std::to_array<std::string_view>({"f16", "q8_0", "q4_0"});
    if (run.keys.id != run.values.id)
        return cannot("ollama", "requires the same cache type for keys and values");
    if (std::ranges::find(kTypes, run.keys.name) == kTypes.end())
        return cannot("ollama", "supports only f16, q8_0 and q4_0 caches");
    return fmt::format(
        "OLLAMA_CONTEXT_LENGTH={}\nOLLAMA_NUM_PARALLEL={}\nOLLAMA_FLASH_ATTENTION={}\n"
        "OLLAMA_KV_CACHE_TYPE={}\n# Modelfile: PARAMETER num_gpu {}\n"
        "# Modelfile: PARAMETER num_batch {}\n",
        run.context, run.streams, choice.flash_attention ? 1 : 0, run.keys.name, choice.layers,
        run.batch);
}

/// The percentage of memory that vllm may use on each GPU; at most 99. vllm uses the same
/// percentage for every GPU, so the GPU whose budget is the smallest share of its memory determines
/// the percentage. Budgets exclude the margin. nullopt if a size is unknown.
std::optional<std::uint64_t> utilization_of(const Choice& choice) {
    std::optional<std::uint64_t> least;
    for (const auto* gpu : choice.gpus) {
        if (!gpu || !gpu->budget.bytes || !gpu->physical || gpu->physical->count < 100)
            return std::nullopt;
        const auto part = gpu->budget.bytes->count / (gpu->physical->count / 100);
        least = std::min<std::uint64_t>(least.value_or(99), part);
    }
    return least;
}

/// Arguments for vllm. Source: vllm/engine/arg_utils.py and vllm/config/cache.py of vllm v0.11.
Result<std::string> for_vllm(const PlanRequest& request, const Choice& choice) {
    const auto& run = request.run;
    if (run.keys.id != run.values.id)
        return cannot("vllm", "requires the same cache type for keys and values");
    // The most similar cache types that vllm has.
    const auto type = run.keys.name == "f16"    ? "auto"
                      : run.keys.name == "bf16" ? "bfloat16"
                      : run.keys.name == "q8_0" ? "fp8"
                                                : "";
    if (*type == '\0')
        return cannot("vllm", "supports only f16, bf16 and q8_0 caches");
    // vllm can't keep layers in the machine's memory.
    if (rank_of(choice.fit) == 0)
        return cannot("vllm", "needs the whole model on GPUs, but the model does not fit");
    auto text = fmt::format(
        "--max-model-len {} --max-num-seqs {} --max-num-batched-tokens {} --kv-cache-dtype {}",
        run.context, run.streams, std::max(run.batch, run.context), type);
    if (const auto part = utilization_of(choice))
        text += fmt::format(" --gpu-memory-utilization 0.{:02}", *part);
    // The GPUs that hold layers become pipeline stages.
    const auto carriers =
        std::ranges::count_if(choice.shares, [](auto layers) { return layers > 0; });
    if (carriers > 1)
        text += fmt::format(" --pipeline-parallel-size {}", carriers);
    return text + "\n";
}

Result<std::string> text_for(std::string_view program,
                             const PlanRequest& request,
                             const Choice& choice) {
    if (program == "llama.cpp")
        return for_llama_cpp(request, choice);
    if (program == "ollama")
        return for_ollama(request, choice);
    if (program == "vllm")
        return for_vllm(request, choice);
    return Error{
        ErrorCode::InvalidRequest,
        fmt::format("plan: '{}' is not a supported program; choose llama.cpp, ollama or vllm",
                    scrubbed(program, 32))};
}

}  // namespace

std::string plan_text(const PlanRequest& request, const Plan& plan, const Screen& screen) {
    auto text = headline(request, plan, screen) + "\n";
    if (plan.need)
        text += "\n" + parts_text(plan, screen);
    text += plan.gpus.empty() ? "\n  no GPU that can compute\n"
                              : "\n" + gpus_text(request, plan, screen);
    text += reasons_text(plan, screen) + together_text(request, plan, screen) +
            host_text(plan.host, screen);
    if (screen.has_legend)
        text +=
            "\n" + hanging(screen, "", 0,
                           phrase("This is an estimate that leaves {margin} free on each GPU. The "
                                  "exact need depends on the program that loads the model.",
                                  {{"margin", size_text(request.margin)}}));
    return text;
}

Result<ProgramArguments> plan_arguments_for(std::string_view program,
                                            const PlanRequest& request,
                                            const Plan& plan) {
    if (!request.model)
        return cannot(program, "requires a model");
    const auto choice = choice_of(plan);
    ProgramArguments arguments{.text = TRY(text_for(program, request, choice))};
    for (const auto* gpu : choice.gpus)
        if (gpu)
            arguments.gpus.push_back(gpu->gpu);
    return arguments;
}

}  // namespace gpuprobe::inline cli
