// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/verb.h"

/// One function per verb that returns its table; verb_<name>.cpp has both the table and the code.
namespace gpuprobe::inline cli {

Verb status_verb();
Verb list_verb();
Verb show_verb();
Verb describe_verb();
Verb select_verb();
Verb env_verb();
Verb run_verb();
Verb watch_verb();
Verb recommend_verb();
Verb export_verb();
Verb selector_verb();
Verb verify_verb();
Verb products_verb();
Verb plan_verb();
Verb probe_verb();
Verb bench_verb();
Verb monitor_verb();
Verb doctor_verb();
Verb capture_verb();
Verb override_verb();
Verb call_verb();
Verb report_outcome_verb();
Verb quarantine_verb();
Verb consumers_verb();
Verb knowledge_verb();
Verb version_verb();
Verb help_verb();

}  // namespace gpuprobe::inline cli
