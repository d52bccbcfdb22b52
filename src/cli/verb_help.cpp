// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

namespace gpuprobe::inline cli {

/// Has no implementation: parse_arguments() prints the help.
Verb help_verb() {
    return {
        .name = "help",
        .overview = {{"help [VERB]", "this page, or the one on a verb"}},
        .usage = {"help [VERB]"},
        .about = R"(
The overview, or the page on a verb.
)",
        .operands = {{.word = {.name = "VERB", .names = kVerbs}, .take = put<&Arguments::topic>}}};
}

}  // namespace gpuprobe::inline cli
