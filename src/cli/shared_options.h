// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/verb.h"

/// Options and operands that several verbs share.
namespace gpuprobe::inline cli {

/// The option for one key of a request.
Option option_of(const RequestKey& key, Value& (*request)(Arguments&));

/// The names of all APIs, separated by spaces.
std::string_view api_words();

/// Options of an override rule: the keys of backend and variant requests that a rule may contain.
std::vector<Option> rule_options();
/// Options of select and env.
std::vector<Option> choice_options();
/// Options that probe and bench share.
std::vector<Option> trial_options();
/// Options about variants, for recommend and export.
std::vector<Option> variant_options();
/// The option --explain of recommend; export has no use for it.
Option explain_variants_option();

/// Adds a GPU to Arguments::gpus.
Status take_gpu(Arguments& arguments, const std::string& word);
/// Stores the operand CONSUMER as the application to choose for.
Status take_consumer(Arguments& arguments, const std::string& word);

}  // namespace gpuprobe::inline cli
