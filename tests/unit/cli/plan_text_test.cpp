// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_text.h"

#include <gtest/gtest.h>

#include "support/case_name.h"

namespace gpuprobe {
namespace plan_text_test {

constexpr const char* kFirst = "pci:0000:01:00.0";
constexpr const char* kSecond = "pci:0000:02:00.0";
const Screen kAscii{.is_unicode = false};

PlanRequest request_of(RunShape run = {}) {
    Model model{.architecture = "llama", .layers = std::vector<LayerShape>(32)};
    model.name = "Llama 3.1 8B";
    return {.model = std::move(model), .run = run};
}

GpuPlan gpu_plan(const char* id, Fit fit, std::uint64_t layers) {
    return {.gpu = id,
            .name = "NVIDIA H200",
            .fit = fit,
            .budget = {.available = gib(10), .bytes = gib(9)},
            .physical = gib(12),
            .need = gib(5),
            .overhead = mib(300),
            .flash_attention = true,
            .layers = LayerCount{.offloaded = layers, .total = 33},
            .max_context = 8192};
}

SetPlan set_plan(Fit fit, std::uint64_t first, std::uint64_t second) {
    return {.backend = "cuda",
            .gpus = {kFirst, kSecond},
            .fit = fit,
            .layers = LayerCount{.offloaded = first + second, .total = 33},
            .shares = {{.gpu = kFirst, .need = gib(first), .layers = first},
                       {.gpu = kSecond, .need = gib(second), .layers = second}}};
}

Plan plan_of(std::vector<GpuPlan> gpus, std::vector<SetPlan> together = {}) {
    return {.gpus = std::move(gpus), .together = std::move(together)};
}

Plan fitting() {
    return plan_of({gpu_plan(kFirst, Fit::Fits, 33)});
}

std::string arguments_of(std::string_view program, const PlanRequest& request, const Plan& plan) {
    const auto arguments = plan_arguments_for(program, request, plan);
    return arguments ? arguments->text : arguments.error().text;
}

RunShape with_cache(const char* keys, const char* values) {
    return {.keys = *cache_type(keys), .values = *cache_type(values)};
}

// Arguments ---------------------------------------------------------------------------------------

TEST(ArgumentsForLlamaCpp, HaveThePlan) {
    EXPECT_EQ(arguments_of("llama.cpp", request_of(), fitting()),
              "--n-gpu-layers 33 --ctx-size 4096 --batch-size 2048 --ubatch-size 512 --parallel 1 "
              "--cache-type-k f16 --cache-type-v f16 --flash-attn on --split-mode none\n");
}

TEST(ArgumentsForLlamaCpp, CountTheContextOfAllStreams) {
    auto run = with_cache("q8_0", "f16");
    run.context = 8192;
    run.batch = 4096;
    run.streams = 4;
    run.keeps_whole_windows = true;
    EXPECT_EQ(arguments_of("llama.cpp", request_of(run), fitting()),
              "--n-gpu-layers 33 --ctx-size 32768 --batch-size 4096 --ubatch-size 4096 --parallel "
              "4 --cache-type-k q8_0 --cache-type-v f16 --flash-attn on --no-kv-unified --swa-full "
              "--split-mode none\n");
}

TEST(ArgumentsForLlamaCpp, SplitByTheSharesOfASet) {
    const auto plan = plan_of({gpu_plan(kFirst, Fit::No, 20), gpu_plan(kSecond, Fit::No, 13)},
                              {set_plan(Fit::Fits, 20, 13)});
    const auto arguments = plan_arguments_for("llama.cpp", request_of(), plan);
    ASSERT_TRUE(arguments);
    EXPECT_NE(arguments->text.find("--n-gpu-layers 33 "), std::string::npos);
    EXPECT_TRUE(arguments->text.ends_with("--split-mode layer --tensor-split 20,13\n"));
    EXPECT_NE(arguments->text.find("--flash-attn off"), std::string::npos) << "the set has none";
    EXPECT_EQ(arguments->gpus, (std::vector<std::string>{kFirst, kSecond}));
}

TEST(ArgumentsForLlamaCpp, UseNoGpuIfNoneHoldsALayer) {
    const auto arguments = plan_arguments_for("llama.cpp", request_of(), plan_of({}));
    ASSERT_TRUE(arguments);
    EXPECT_TRUE(arguments->text.starts_with("--n-gpu-layers 0 "));
    EXPECT_EQ(arguments->text.find("--split-mode"), std::string::npos);
    EXPECT_TRUE(arguments->gpus.empty());
}

struct ChoiceRow {
    const char* name;
    Plan plan;
    std::vector<std::string> gpus;
};
class PlanChoice : public ::testing::TestWithParam<ChoiceRow> {};

TEST_P(PlanChoice, HoldsTheMostOfTheModel) {
    const auto arguments = plan_arguments_for("llama.cpp", request_of(), GetParam().plan);
    ASSERT_TRUE(arguments) << arguments.error().text;
    EXPECT_EQ(arguments->gpus, GetParam().gpus);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    PlanChoice,
    ::testing::Values(
        ChoiceRow{"TheOneThatFits",
                  plan_of({gpu_plan(kFirst, Fit::No, 20), gpu_plan(kSecond, Fit::Fits, 33)}),
                  {kSecond}},
        ChoiceRow{"TheOneWithMoreLayers",
                  plan_of({gpu_plan(kFirst, Fit::No, 10), gpu_plan(kSecond, Fit::No, 20)}),
                  {kSecond}},
        ChoiceRow{"TheFirstOfEqualOnes",
                  plan_of({gpu_plan(kFirst, Fit::Tight, 33), gpu_plan(kSecond, Fit::Fits, 33)}),
                  {kFirst}},
        ChoiceRow{"OneInsteadOfSeveral",
                  plan_of({gpu_plan(kFirst, Fit::Tight, 33), gpu_plan(kSecond, Fit::No, 10)},
                          {set_plan(Fit::Fits, 20, 13)}),
                  {kFirst}},
        ChoiceRow{"SeveralWithMoreLayers",
                  plan_of({gpu_plan(kFirst, Fit::No, 20), gpu_plan(kSecond, Fit::No, 13)},
                          {set_plan(Fit::No, 20, 5)}),
                  {kFirst, kSecond}}),
    support::case_name);

TEST(ArgumentsForOllama, AreVariablesAndLinesOfAModelfile) {
    EXPECT_EQ(arguments_of("ollama", request_of(with_cache("q8_0", "q8_0")), fitting()),
              "OLLAMA_CONTEXT_LENGTH=4096\nOLLAMA_NUM_PARALLEL=1\nOLLAMA_FLASH_ATTENTION=1\n"
              "OLLAMA_KV_CACHE_TYPE=q8_0\n# Modelfile: PARAMETER num_gpu 33\n"
              "# Modelfile: PARAMETER num_batch 512\n");
    EXPECT_EQ(arguments_of("ollama", request_of(with_cache("q8_0", "f16")), fitting()),
              "plan: ollama requires the same cache type for keys and values");
    EXPECT_EQ(arguments_of("ollama", request_of(with_cache("q5_1", "q5_1")), fitting()),
              "plan: ollama supports only f16, q8_0 and q4_0 caches");
}

TEST(ArgumentsForVllm, HaveTheNearestTypeAndTheShareOfTheMemory) {
    EXPECT_EQ(arguments_of("vllm", request_of(), fitting()),
              "--max-model-len 4096 --max-num-seqs 1 --max-num-batched-tokens 4096 "
              "--kv-cache-dtype auto --gpu-memory-utilization 0.75\n");
    const auto type = [](const char* name) {
        return arguments_of("vllm", request_of(with_cache(name, name)), fitting());
    };
    EXPECT_NE(type("bf16").find("--kv-cache-dtype bfloat16"), std::string::npos);
    EXPECT_NE(type("q8_0").find("--kv-cache-dtype fp8"), std::string::npos);
    EXPECT_EQ(type("q4_0"), "plan: vllm supports only f16, bf16 and q8_0 caches");
    EXPECT_EQ(arguments_of("vllm", request_of(with_cache("q8_0", "f16")), fitting()),
              "plan: vllm requires the same cache type for keys and values");
}

TEST(ArgumentsForVllm, WriteTheShareWithTwoDigits) {
    auto plan = fitting();
    const auto share = [&plan](std::uint64_t percent) {
        plan.gpus[0].physical = Bytes{10000};
        plan.gpus[0].budget.bytes = Bytes{100 * percent};
        const auto text = arguments_of("vllm", request_of(), plan);
        const auto at = text.find("0.");
        return at == std::string::npos ? "" : text.substr(at, text.find('\n') - at);
    };
    EXPECT_EQ(share(5), "0.05");
    EXPECT_EQ(share(50), "0.50");
    EXPECT_EQ(share(100), "0.99");
    plan.gpus[0].physical.reset();
    EXPECT_EQ(arguments_of("vllm", request_of(), plan).find("utilization"), std::string::npos);
}

TEST(ArgumentsForVllm, NeedTheWholeModelOnGpus) {
    constexpr const char* kNo =
        "plan: vllm needs the whole model on GPUs, but the model does not fit";
    EXPECT_EQ(arguments_of("vllm", request_of(), plan_of({gpu_plan(kFirst, Fit::No, 20)})), kNo);
    EXPECT_EQ(arguments_of("vllm", request_of(), plan_of({})), kNo);
}

TEST(ArgumentsForVllm, HaveAStageForEachGpuWithLayers) {
    const auto text = [](std::uint64_t first, std::uint64_t second) {
        return arguments_of("vllm", request_of(),
                            plan_of({gpu_plan(kFirst, Fit::No, 9), gpu_plan(kSecond, Fit::No, 9)},
                                    {set_plan(Fit::Fits, first, second)}));
    };
    EXPECT_TRUE(text(20, 13).ends_with("--pipeline-parallel-size 2\n"));
    EXPECT_EQ(text(33, 0).find("--pipeline"), std::string::npos);
}

TEST(Arguments, AreForAModelAndAKnownProgram) {
    EXPECT_EQ(arguments_of("llama.cpp", {.need = gib(1)}, fitting()),
              "plan: llama.cpp requires a model");
    EXPECT_EQ(arguments_of("tgi", request_of(), fitting()),
              "plan: 'tgi' is not a supported program; choose llama.cpp, ollama or vllm");
}

// The table ---------------------------------------------------------------------------------------

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(PlanText, BeginsWithTheModelAndTheRun) {
    auto plan = fitting();
    plan.has_flash_attention = true;
    EXPECT_TRUE(plan_text(request_of(), plan, kAscii)
                    .starts_with("Llama 3.1 8B (llama, 32 layers) - context 4096 - cache f16 - "
                                 "batch 512\n"));
    auto run = with_cache("q8_0", "f16");
    run.streams = 2;
    plan.has_flash_attention = false;
    EXPECT_TRUE(has(plan_text(request_of(run), plan, kAscii),
                    "cache q8_0,f16 - batch 512 - 2 streams - no flash attention\n"));
    EXPECT_TRUE(plan_text({.need = gib(2)}, plan, kAscii).starts_with("2.0 GiB\n"));
}

TEST(PlanText, HasColumnsForLayersOnlyForAModel) {
    const auto model = plan_text(request_of(), fitting(), kAscii);
    EXPECT_TRUE(has(model, "MAX CONTEXT")) << model;
    EXPECT_TRUE(has(model, "33/33")) << model;
    EXPECT_FALSE(has(plan_text({.need = gib(2)}, fitting(), kAscii), "LAYERS"));
    EXPECT_TRUE(has(plan_text(request_of(), plan_of({}), kAscii), "no GPU that can compute"));
}

TEST(PlanText, ReportsHowManyGpusOfASetHoldLayers) {
    const auto text = [](std::uint64_t first, std::uint64_t second) {
        return plan_text(request_of(), plan_of({}, {set_plan(Fit::Fits, first, second)}), kAscii);
    };
    EXPECT_TRUE(has(text(20, 13),
                    "cuda  fits on 2 GPUs, layers 33/33, max context -: 20.0 GiB on "
                    "pci:0000:01:00.0 (20 layers), 13.0 GiB on pci:0000:02:00.0 (13 "
                    "layers)"))
        << text(20, 13);
    EXPECT_TRUE(has(text(33, 0), "fits on 1 of 2 GPUs")) << text(33, 0);
    EXPECT_TRUE(has(text(1, 32), "(1 layer), ")) << text(1, 32);
    EXPECT_FALSE(has(plan_text(request_of(), plan_of({}), kAscii), "Together"));
}

TEST(PlanText, HasOneRowAndOneShareForEqualGpus) {
    auto plan = plan_of({gpu_plan(kFirst, Fit::Fits, 33), gpu_plan(kSecond, Fit::Fits, 33)},
                        {set_plan(Fit::Fits, 4, 4)});
    for (auto& gpu : plan.gpus)
        gpu.reasons = {because("joined-weakly")};
    const auto text = plan_text(request_of(), plan, kAscii);
    EXPECT_NE(text.find("  pci:0000:01:00.0 ...  2 x NVIDIA H200  "), std::string::npos) << text;
    EXPECT_NE(text.find("  pci:0000:01:00.0 and 1 more  the device was matched"), std::string::npos)
        << text;
    EXPECT_NE(text.find("4.0 GiB each on pci:0000:01:00.0 and 1 more (4 layers)"),
              std::string::npos)
        << text;
    plan.gpus[1].budget.bytes = gib(8);
    EXPECT_NE(plan_text(request_of(), plan, kAscii).find("\n  pci:0000:02:00.0  NVIDIA H200"),
              std::string::npos);
}

TEST(PlanText, ReportsWhetherTheModelFitsInHostMemory) {
    auto plan = plan_of({});
    plan.host = {.fit = Fit::Fits, .available = gib(32), .need = gib(5)};
    EXPECT_TRUE(has(plan_text(request_of(), plan, kAscii),
                    "Without a GPU: fits, 5.0 GiB of the 32.0 GiB of available memory\n"));
    plan.host = {.fit = Fit::Unknown, .need = gib(5)};
    EXPECT_TRUE(
        has(plan_text(request_of(), plan, kAscii), "Without a GPU: unknown; 5.0 GiB is needed\n"));
}

TEST(PlanText, HasTheMarginOnlyInTheLegend) {
    auto bare = kAscii;
    bare.has_legend = false;
    auto request = request_of();
    request.margin = gib(1);
    EXPECT_TRUE(has(plan_text(request, fitting(), kAscii), "leaves 1.0 GiB free"));
    EXPECT_FALSE(has(plan_text(request, fitting(), bare), "estimate"));
}

}  // namespace plan_text_test
}  // namespace gpuprobe
