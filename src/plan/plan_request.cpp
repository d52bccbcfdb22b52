// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

#include "base/text.h"
#include "base/value.h"
#include "plan/need.h"
#include "plan/plan.h"

namespace gpuprobe::inline plan {
namespace {

/// Limits that ensure that sums of sizes cannot overflow.
constexpr std::uint64_t kMaxMib = 1ULL << 32U;
constexpr std::size_t kMaxGpus = 128;

/// Reads a number that must be within limits. In a string, a number such as "32k" means 32 · 1024.
ReadProblem read_number(const Value& value,
                        std::uint64_t least,
                        std::uint64_t most,
                        std::uint64_t& out) {
    auto number = value.as_unsigned();
    const auto* text = value.as_string();
    if (text) {
        // Contexts are often written with the suffix "k", as in "32k".
        const bool is_thousands = text->ends_with('k') || text->ends_with('K');
        const std::uint64_t unit = is_thousands ? 1024 : 1;
        number = parse_number<std::uint64_t>(
            std::string_view{*text}.substr(0, text->size() - (is_thousands ? 1 : 0)));
        number = number && *number <= most / unit ? std::optional{*number * unit} : std::nullopt;
    }
    if (!number || *number < least || *number > most)
        return "'" + scrubbed(text ? *text : json_line(value), 32) + "' is not a number from " +
               std::to_string(least) + " to " + std::to_string(most);
    out = *number;
    return {};
}

ReadProblem read_mib(const Value& value, std::uint64_t least, std::optional<Bytes>& out) {
    std::uint64_t number = 0;
    auto problem = read_number(value, least, kMaxMib, number);
    if (problem.empty())
        out = mib(number);
    return problem;
}

/// Reads a size in MiB into a member that has a default value.
ReadProblem read_mib(const Value& value, Bytes& out) {
    std::optional<Bytes> read;
    auto problem = read_mib(value, 0, read);
    out = read.value_or(out);
    return problem;
}

/// Reads a list of strings, or one string that contains items separated by commas.
ReadProblem read_words(const Value& value, std::vector<std::string>& out) {
    if (const auto* text = value.as_string()) {
        for (const auto piece : split(*text, ','))
            out.emplace_back(piece);
        return {};
    }
    return read_value(value, out).empty() ? ReadProblem{} : wrong_type(value, "list of strings");
}

ReadProblem read_gpus(const Value& value, PlanRequest& request) {
    auto problem = read_words(value, request.gpus);
    // Refuse an empty list, because it would mean all GPUs, which the caller probably does not
    // intend.
    if (problem.empty() && std::ranges::all_of(request.gpus, &std::string::empty))
        return "expected at least one GPU; omit the key to allow any GPU";
    return problem;
}

/// Reads one type for keys and values, or two separate types.
ReadProblem read_cache_types(const Value& value, PlanRequest& request) {
    std::vector<std::string> types;
    if (auto problem = read_words(value, types); !problem.empty())
        return problem;
    if (types.empty() || types.size() > 2)
        return "expected one type, or one type for keys and one for values";
    for (const auto& type : types)
        if (!cache_type(type))
            return "'" + scrubbed(type, 32) +
                   "' is not a cache type: f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl";
    request.run.keys = *cache_type(types.front());
    request.run.values = *cache_type(types.back());
    return {};
}

ReadProblem read_flash_attention(const Value& value, PlanRequest& request) {
    const auto* text = value.as_string();
    for (const auto& known : names_of(FlashAttention{}))
        if (text && *text == known.name) {
            request.flash_attention = known.value;
            return {};
        }
    return "expected auto, on or off";
}

ReadProblem read_tensor_split(const Value& value, PlanRequest& request) {
    std::vector<std::string> parts;
    if (auto problem = read_words(value, parts); !problem.empty())
        return problem;
    if (parts.size() > kMaxGpus)
        return "more than 128 parts";
    for (const auto& part : parts) {
        // libc++ 19 has no std::from_chars() for floating-point numbers.
        std::istringstream text{part};
        // Use the classic locale, because another locale could change the decimal point.
        text.imbue(std::locale::classic());
        float number = 0;
        if (!(text >> std::noskipws >> number) || !text.eof() || !std::isfinite(number) ||
            number < 0)
            return "'" + scrubbed(part, 32) + "' is not a non-negative number";
        request.tensor_split.push_back(number);
    }
    return {};
}

/// All keys. The command line, the help text and the completion are generated from this table.
constexpr ReadableKey<PlanRequest> kTable[] = {
    {{.key = "need-mib",
      .type = RequestType::Mebibytes,
      .meaning = "plan for this memory size instead of a model",
      .option = "--memory",
      .placeholder = "SIZE"},
     [](const Value& v, PlanRequest& r) { return read_mib(v, 1, r.need); }},
    {{.key = "projector-mib",
      .type = RequestType::Mebibytes,
      .meaning = "memory that a multimodal projector needs on the first GPU",
      .option = "--projector-memory",
      .placeholder = "SIZE"},
     [](const Value& v, PlanRequest& r) { return read_mib(v, r.projector); }},
    {{.key = "ctx",
      .type = RequestType::Number,
      .meaning = "context length of one stream in tokens: 4096, 32k",
      .option = "--ctx",
      .placeholder = "N",
      .offers = "4k 8k 16k 32k 64k 128k"},
     [](const Value& v, PlanRequest& r) { return read_number(v, 1, kMaxContext, r.run.context); }},
    {{.key = "kv", .meaning = "type of the KV cache; KEYS,VALUES if the two types differ"},
     read_cache_types},
    {{.key = "flash-attention",
      .type = RequestType::Word,
      .meaning = "flash attention: auto (on if the backend supports it), on or off",
      .option = "--flash-attention",
      .placeholder = "MODE",
      .offers = "auto on off",
      .takes_others = false},
     read_flash_attention},
    {{.key = "batch",
      .type = RequestType::Number,
      .meaning = "batch size in tokens (default: 512)",
      .option = "--batch",
      .placeholder = "N"},
     [](const Value& v, PlanRequest& r) { return read_number(v, 1, kMaxBatch, r.run.batch); }},
    {{.key = "ubatch",
      .type = RequestType::Number,
      .meaning = "physical batch size, if smaller than --batch (like llama.cpp's --ubatch-size)",
      .option = "--ubatch",
      .placeholder = "N"},
     [](const Value& v, PlanRequest& r) {
         return read_number(v, 1, kMaxBatch, r.micro_batch.emplace());
     }},
    {{.key = "streams",
      .type = RequestType::Number,
      .meaning = "number of parallel sequences, each with its own context",
      .option = "--parallel",
      .placeholder = "N"},
     [](const Value& v, PlanRequest& r) { return read_number(v, 1, kMaxStreams, r.run.streams); }},
    {{.key = "swa-full",
      .type = RequestType::Flag,
      .meaning = "keep the whole context in sliding-window layers (like llama.cpp's --swa-full)",
      .option = "--swa-full"},
     [](const Value& v, PlanRequest& r) { return read_value(v, r.run.keeps_whole_windows); }},
    {{.key = "gpus",
      .meaning = "use only the given GPUs",
      .option = "--gpu",
      .placeholder = "LIST",
      .offers_gpus = true,
      .keeps_empty = true},
     read_gpus},
    {{.key = "application",
      .type = RequestType::Word,
      .meaning = "use only GPUs that select accepts for this application with the application's "
                 "override",
      .option = "--application",
      .placeholder = "NAME"},
     [](const Value& v, PlanRequest& r) { return read_value(v, r.application.emplace()); }},
    {{.key = "tensor-split",
      .meaning = "share of each GPU, such as 3,1 (default: by free memory)",
      .option = "--tensor-split",
      .placeholder = "PARTS"},
     read_tensor_split},
    {{.key = "margin-mib",
      .type = RequestType::Mebibytes,
      .meaning = "memory to leave free on each GPU (default: 1GiB)",
      .option = "--margin",
      .placeholder = "SIZE"},
     [](const Value& v, PlanRequest& r) { return read_mib(v, r.margin); }},
    {{.key = "context-mib",
      .type = RequestType::Mebibytes,
      .meaning = "measured memory that the driver's context uses on each GPU",
      .option = "--context-memory",
      .placeholder = "SIZE"},
     [](const Value& v, PlanRequest& r) { return read_mib(v, 0, r.context_overhead); }},
};

/// Whether a key has a meaning only for a model.
bool is_about_a_model(const Value::Member& member) {
    return member.key != "need-mib" && member.key != "gpus" && member.key != "application" &&
           member.key != "margin-mib";
}

}  // namespace

std::span<const RequestKey> plan_keys() {
    static const auto keys = described(kTable);
    return keys;
}

Result<PlanRequest> plan_request_from(const Value& object) {
    auto request = TRY(request_from(object, kTable));
    const auto* members = object.as_object();
    if (request.need && std::ranges::any_of(*members, is_about_a_model))
        return Error{
            ErrorCode::InvalidRequest,
            "request: need-mib can be combined only with gpus, application and margin-mib"};
    // As in llama.cpp, the micro-batch is the number of tokens that are computed at once, and is at
    // most the batch.
    if (request.micro_batch)
        request.run.batch = object.find("batch") ? std::min(request.run.batch, *request.micro_batch)
                                                 : *request.micro_batch;
    TRY(check_cache_types(request.run, request.flash_attention));
    return request;
}

}  // namespace gpuprobe::inline plan
