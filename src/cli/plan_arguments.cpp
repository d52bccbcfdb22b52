// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_arguments.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/verb.h"
#include "plan/ggml_type.h"
#include "plan/need.h"

namespace gpuprobe {
namespace {

constexpr std::uint64_t kMaxMib = 1ULL << 32U;

/// A number within limits; "32k" is 32 · 1024.
Status read_number(std::string_view option,
                   std::string_view word,
                   std::uint64_t least,
                   std::uint64_t most,
                   std::uint64_t& number) {
    if (word.empty())
        return Done{};
    const bool is_thousands = word.ends_with('k') || word.ends_with('K');
    const auto digits = word.substr(0, word.size() - (is_thousands ? 1 : 0));
    const auto read = parse_number<std::uint64_t>(digits);
    const std::uint64_t unit = is_thousands ? 1024 : 1;
    if (!read || *read > most / unit || *read * unit < least)
        return refusal(fmt::format("{}: '{}' is no number from {} to {}", option,
                                   scrubbed(word, 32), least, most));
    number = *read * unit;
    return Done{};
}

Status read_mib(std::string_view option,
                std::string_view word,
                std::uint64_t least,
                std::optional<Bytes>& size) {
    if (word.empty())
        return Done{};
    std::uint64_t number = 0;
    TRY(read_number(option, word, least, kMaxMib, number));
    size = mib(number);
    return Done{};
}

Status read_cache_types(const std::string& word, PlanArguments& plan) {
    if (word.empty())
        return Done{};
    const auto types = split(word, ',');
    for (const auto type : types)
        if (!cache_type(type))
            return refusal(
                fmt::format("--kv: '{}' is no type of a cache: f32, f16, bf16, q8_0, "
                            "q5_1, q5_0, q4_1, q4_0 or iq4_nl",
                            scrubbed(type, 32)));
    if (types.size() > 2)
        return refusal("--kv: one type, or one for keys and one for values");
    plan.key_type = types.front();
    plan.value_type = types.back();
    return Done{};
}

}  // namespace

Status read_plan_words(PlanArguments& plan) {
    const auto& words = plan.words;
    TRY(read_mib("--need-mib", words.need_mib, 1, plan.need));
    TRY(read_mib("--margin-mib", words.margin_mib, 0, plan.margin));
    TRY(read_number("--ctx", words.context, 1, kMaxContext, plan.context));
    TRY(read_number("--batch", words.batch, 1, kMaxBatch, plan.batch));
    TRY(read_number("--streams", words.streams, 1, kMaxStreams, plan.streams));
    TRY(read_cache_types(words.cache_types, plan));
    if (plan.model_file.has_value() == plan.need.has_value())
        return refusal("what for? Give --gguf FILE or --need-mib N");
    const bool has_shape = !words.context.empty() || !words.batch.empty() ||
                           !words.streams.empty() || !words.cache_types.empty() ||
                           plan.is_beginning;
    if (plan.need && has_shape)
        return refusal(
            "--need-mib is the whole need: --ctx, --kv, --batch, --streams and "
            "--beginning are about a model");
    return Done{};
}

}  // namespace gpuprobe
