// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.h"

#include <algorithm>

#include "report/api_table.h"

namespace gpuprobe::inline cli {
namespace {

// Functions that return the request to which an option adds its key.
Value& select_request(Arguments& arguments) {
    return arguments.select.request;
}
Value& recommend_request(Arguments& arguments) {
    return arguments.recommend.request;
}
Value& variants_of_a_rule(Arguments& arguments) {
    return arguments.overriding.variants;
}

}  // namespace

Option option_of(const RequestKey& key, Value& (*request)(Arguments&)) {
    return {.names = key.option,
            .value = {.name = key.placeholder,
                      .offers = key.offers,
                      .names = (key.offers_gpus ? unsigned{kGpus} : 0U) |
                               (key.offers_files ? unsigned{kFiles} : 0U),
                      .takes_others = key.takes_others,
                      .is_list = key.type == RequestType::Names},
            .help = key.meaning,
            .key = &key,
            .request = request};
}

namespace {

/// The options of a rule. They may have another name and help text there than in a request.
std::vector<Option> rule_options_of(std::span<const RequestKey> keys,
                                    Value& (*request)(Arguments&)) {
    std::vector<Option> options;
    for (const auto& key : keys) {
        if (key.rule_option.empty())
            continue;
        auto& option = options.emplace_back(option_of(key, request));
        option.names = key.rule_option;
        if (!key.rule_meaning.empty())
            option.help = key.rule_meaning;
    }
    return options;
}

}  // namespace

std::vector<Option> rule_options() {
    return joined(rule_options_of(select_keys(), select_request),
                  rule_options_of(recommend_keys(), variants_of_a_rule));
}

std::vector<Option> choice_options() {
    std::vector<Option> options;
    for (const auto& key : select_keys())
        if (!key.option.empty())
            options.push_back(option_of(key, select_request));
    return options;
}

std::string_view api_words() {
    // Options keep string views, so the text must live as long as the program.
    static const std::string words = [] {
        std::string all;
        for (const auto& api : kApis)
            all.append(all.empty() ? "" : " ").append(api.word);
        return all;
    }();
    return words;
}

std::vector<Option> trial_options() {
    return {
        {.names = "--api",
         .value = {.name = "LIST", .offers = api_words(), .takes_others = false, .is_list = true},
         .help = "only these APIs: vulkan,opencl,…",
         .take = put<&Arguments::apis>},
        {.names = "--allow-wake",
         .help = "wake sleeping GPUs",
         .take = put<&Arguments::allow_wake>},
        {.names = "--force",
         .help = "measure also what is in use, short of memory, or runs on battery",
         .take = put<&Arguments::measures_in_use>},
    };
}

std::vector<Option> variant_options() {
    std::vector<Option> options{
        {.names = "--manifest",
         .value = {.name = "FILE", .names = kFiles},
         .help = "the variants there are; without it the installed list of PRODUCT",
         .take = put<&Arguments::recommend, &RecommendArguments::manifest>}};
    for (const auto& key : recommend_keys())
        if (!key.option.empty() && key.key != "explain")
            options.push_back(option_of(key, recommend_request));
    return options;
}

Option explain_variants_option() {
    const auto keys = recommend_keys();
    return option_of(*std::ranges::find(keys, "explain", &RequestKey::key), recommend_request);
}

Status take_gpu(Arguments& arguments, const std::string& word) {
    arguments.gpus.push_back(word);
    return Done{};
}

Status take_consumer(Arguments& arguments, const std::string& word) {
    arguments.select.consumer = word;
    arguments.select.names_consumer = true;
    return Done{};
}

}  // namespace gpuprobe::inline cli
