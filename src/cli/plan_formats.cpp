// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_formats.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parse.h"
#include "plan/size_math.h"

namespace gpuprobe::inline cli {
namespace {

/// The answer that is turned into arguments.
struct Choice {
    Fit fit = Fit::Unknown;
    std::uint64_t layers = 0;
    bool flash_attention = false;
    std::vector<const GpuPlan*> gpus = {};
    std::vector<std::uint64_t> shares = {};  ///< layers by GPU
};

/// Tight holds all of it too.
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

/// One GPU before several, since it needs no split.
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

Error cannot(std::string_view program, std::string_view what) {
    return {ErrorCode::InvalidRequest, fmt::format("plan: {} {}", program, what)};
}

/// Source: common/arg.cpp of llama.cpp v0.5.0. The context is that of all streams.
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

/// Source: envconfig/config.go and docs/modelfile.mdx of ollama at fb307609. Parameters of a model
/// stand in its Modelfile.
Result<std::string> for_ollama(const PlanRequest& request, const Choice& choice) {
    const auto& run = request.run;
    constexpr auto kTypes = std::to_array<std::string_view>({"f16", "q8_0", "q4_0"});
    if (run.keys.id != run.values.id)
        return cannot("ollama", "has one type for keys and values");
    if (std::ranges::find(kTypes, run.keys.name) == kTypes.end())
        return cannot("ollama", "has caches in f16, q8_0 and q4_0");
    return fmt::format(
        "OLLAMA_CONTEXT_LENGTH={}\nOLLAMA_NUM_PARALLEL={}\nOLLAMA_FLASH_ATTENTION={}\n"
        "OLLAMA_KV_CACHE_TYPE={}\n# Modelfile: PARAMETER num_gpu {}\n"
        "# Modelfile: PARAMETER num_batch {}\n",
        run.context, run.streams, choice.flash_attention ? 1 : 0, run.keys.name, choice.layers,
        run.batch);
}

/// The part of a GPU's memory that vllm may take, in hundredths: what is free of it, less the
/// margin.
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

/// Source: vllm/engine/arg_utils.py and vllm/config/cache.py of vllm v0.11.
Result<std::string> for_vllm(const PlanRequest& request, const Choice& choice) {
    const auto& run = request.run;
    if (run.keys.id != run.values.id)
        return cannot("vllm", "has one type for keys and values");
    const auto type = run.keys.name == "f16"    ? "auto"
                      : run.keys.name == "bf16" ? "bfloat16"
                      : run.keys.name == "q8_0" ? "fp8"
                                                : "";
    if (*type == '\0')
        return cannot("vllm", "has caches in f16, bf16 and eight bits (q8_0)");
    if (rank_of(choice.fit) == 0)
        return cannot("vllm", "needs the whole model on GPUs, and it does not fit");
    auto text = fmt::format(
        "--max-model-len {} --max-num-seqs {} --max-num-batched-tokens {} --kv-cache-dtype {}",
        run.context, run.streams, std::max(run.batch, run.context), type);
    if (const auto part = utilization_of(choice))
        text += fmt::format(" --gpu-memory-utilization 0.{:02}", *part);
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
    return Error{ErrorCode::InvalidRequest,
                 fmt::format("plan: '{}' is not a known program: llama.cpp, ollama or vllm",
                             scrubbed(program, 32))};
}

}  // namespace

Result<ProgramArguments> plan_arguments_for(std::string_view program,
                                            const PlanRequest& request,
                                            const Plan& plan) {
    if (!request.model)
        return cannot(program, "needs a model");
    const auto choice = choice_of(plan);
    ProgramArguments arguments{.text = TRY(text_for(program, request, choice))};
    for (const auto* gpu : choice.gpus)
        if (gpu)
            arguments.gpus.push_back(gpu->gpu);
    return arguments;
}

}  // namespace gpuprobe::inline cli
