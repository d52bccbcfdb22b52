// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

namespace gpuprobe::inline cli {

const std::vector<Verb>& verbs() {
    // The order is the order of the help. gpuprobectl's front program has a shorter list
    // (front_main.cpp).
    static const std::vector<Verb> all{status_verb(),     list_verb(),
                                       show_verb(),       describe_verb(),
                                       select_verb(),     env_verb(),
                                       run_verb(),        watch_verb(),
                                       recommend_verb(),  export_verb(),
                                       selector_verb(),   verify_verb(),
                                       check_verb(),      plan_verb(),
                                       probe_verb(),      bench_verb(),
                                       monitor_verb(),    doctor_verb(),
                                       capture_verb(),    override_verb(),
                                       call_verb(),       report_outcome_verb(),
                                       quarantine_verb(), applications_verb(),
                                       knowledge_verb(),  version_verb(),
                                       help_verb()};
    return all;
}

}  // namespace gpuprobe::inline cli
