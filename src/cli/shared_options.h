// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/verb.h"

/// Words and options that several verbs have in common.
namespace gpuprobe::inline cli {

/// The option of one key of a request.
Option option_of(const RequestKey& key, Value& (*request)(Arguments&));

/// Every API by its word, between blanks.
std::string_view api_words();

/// What an override says: what it has in common with requests for a backend and for a variant.
std::vector<Option> rule_options();
/// What select and env ask.
std::vector<Option> choice_options();
/// What probe and bench ask for.
std::vector<Option> trial_options();
/// What recommend and export ask about variants.
std::vector<Option> variant_options();
/// And recommend alone.
Option explain_variants_option();

/// One more GPU.
Status take_gpu(Arguments& arguments, const std::string& word);
/// CONSUMER, in the place where a choice is made for it.
Status take_consumer(Arguments& arguments, const std::string& word);

}  // namespace gpuprobe::inline cli
