// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/value.h"

namespace gpuprobe::inline cli {

/// How JSON is printed: not at all, on one line, or on several indented lines.
enum class JsonMode { Off, Short, Pretty };

/// When output has colors: on a terminal, always, or never.
enum class ColourMode { Auto, Always, Never };

/// Arguments of select and env, and of the other verbs that make a choice.
struct SelectArguments {
    std::string application = "default";
    bool names_application = false;  ///< whether the user named the application
    /// The request for SelectBackend (policy/request_table.h). Here `gpus` may contain selectors of
    /// any kind; the verb converts the selectors to ids.
    Value request = Value{Value::Object{}};
    bool for_build = false;  ///< for env: whether to print build flags instead of variables

    [[nodiscard]] bool explains() const { return request.at("explain").as_bool() == true; }
};

/// Arguments of override.
struct OverrideArguments {
    std::string action = "list";  ///< the action: set, clear or list
    std::optional<std::string> application = {};
    /// The part of the rule that concerns variants, as a request for RecommendVariant.
    Value variants = Value{Value::Object{}};
};

/// Arguments of report-outcome.
struct OutcomeArguments {
    std::string result = {};  ///< the outcome: "ok" or "failed"
    std::optional<std::string> backend = {};
    std::optional<std::string> variant = {};
    std::optional<std::string> family = {};
    std::vector<std::string> gpus = {};  ///< the selectors of GPUs, in any form
    std::optional<std::string> detail = {};
};

/// Arguments of knowledge.
struct KnowledgeArguments {
    std::string action = "status";  ///< the action: status, verify, update or rollback
    std::optional<std::string> file = {};
};

/// Arguments of quarantine.
struct QuarantineArguments {
    std::string action = "list";  ///< the action: clear or list
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
    bool is_all = false;
};

/// Arguments of plan.
struct PlanArguments {
    std::optional<std::string> model_file = {};
    std::optional<std::string> projector_file = {};
    bool is_beginning = false;               ///< whether the file is only the beginning of a model
    Value request = Value{Value::Object{}};  ///< the request for plan_request_from()
    std::string format = {};                 ///< the program whose arguments are printed
    bool prints_model = false;               ///< whether to print facts about the model, not a plan
};

/// Arguments of recommend, export, selector and verify, the verbs that deal with variants.
struct RecommendArguments {
    std::string application = {};              ///< name of the application; may be empty for export
    std::optional<std::string> manifest = {};  ///< path of the file with the manifest
    Value request = Value{Value::Object{}};    ///< the request for RecommendVariant
    std::optional<std::string> force = {};
    bool chain = false;
    std::string format = {};                  ///< the format; used only by export
    std::optional<std::string> file = {};     ///< used only by verify
    std::optional<std::string> variant = {};  ///< used only by verify
};

/// Arguments of check.
struct CheckArguments {
    std::optional<std::string> file = {};
};

/// Arguments of export and selector, in addition to RecommendArguments.
struct FleetArguments {
    std::vector<std::string> applications = {};
    std::optional<std::string> output = {};  ///< path of a file; standard output if absent or "-"
    std::optional<std::string> check = {};   ///< path of a file to compare the export with
    bool installs = false;                   ///< whether to write to the orchestrator's file
    bool allows_cpu = false;                 ///< whether a CPU variant may leave a GPU unused
    std::optional<std::string> node = {};    ///< the machine's name in its cluster
    std::optional<unsigned> mode = {};       ///< the permission bits of the output file
    std::optional<int> every = {};           ///< seconds after which the export is repeated
    std::string orchestrator = {};
    std::string variant = {};
    std::vector<std::string> features = {};  ///< the features of nodes in the cluster
    bool by_verdict = false;
    bool allows_weaker = false;
    std::string platform = {};
};

/// Arguments of run and of watch.
struct RunArguments {
    std::vector<std::string> program = {};   ///< the program and its arguments, after "--"
    std::optional<std::string> expect = {};  ///< a backend or an API; "cpu" means no GPU
    bool falls_back = false;                 ///< whether to try the next candidate after a failure
    std::optional<std::string> report = {};  ///< path of a file for the report
    bool wants_json = false;                 ///< whether to write JSON to stderr
    std::optional<std::uint64_t> pid = {};   ///< used only by watch
    bool looks_once = false;                 ///< used only by watch
};

/// Arguments of call.
struct CallArguments {
    std::string method = {};
    std::string parameters = "{}";  ///< the parameters as JSON; "-" reads standard input
    bool wants_more = false;        ///< whether to print intermediate answers, too
};

/// A parsed command line.
struct Arguments {
    std::string verb = "status";

    bool wants_help = false;
    bool wants_version = false;
    bool wants_json = false;  ///< whether -j was given; a terminal gets indented JSON
    JsonMode json = JsonMode::Off;
    ColourMode colour = ColourMode::Auto;
    bool has_legend = true;
    bool is_quiet = false;

    std::optional<std::string> socket = {};  ///< path of the daemon's socket
    bool is_direct = false;
    std::optional<std::string> replay = {};
    std::vector<std::string> captures = {};  ///< the values of --replay; only check accepts several
    std::optional<std::string> worker = {};
    std::vector<std::string> application_folders = {};
    std::string knowledge_root = {};  ///< the folder that replaces "/" for data files and keys
    bool has_cache = true;
    std::optional<int> patience = {};  ///< with --direct, the seconds to wait for a driver

    std::optional<std::string> topic = {};   ///< the verb that `help` explains
    std::vector<std::string> gpus = {};      ///< GPUs for show, describe, probe and bench
    std::vector<std::string> apis = {};      ///< used by probe and bench
    bool allow_wake = false;                 ///< used by probe and bench
    std::string stage = "query";             ///< the stage for probe
    bool measures_in_use = false;            ///< used by probe and bench
    std::optional<std::string> bundle = {};  ///< for doctor: path of a file for a bug report
    bool warnings_count = false;             ///< for doctor: whether warnings count as problems
    std::optional<std::string> capture_folder = {};  ///< used by capture
    bool redacts = false;                            ///< used by capture
    bool keeps_driver_output = false;                ///< for capture: whether to keep driver output
    SelectArguments select = {};                     ///< arguments of select, env, run and override
    OverrideArguments overriding = {};               ///< arguments of override
    OutcomeArguments outcome = {};                   ///< arguments of report-outcome
    QuarantineArguments quarantine = {};             ///< arguments of quarantine
    KnowledgeArguments knowledge = {};               ///< arguments of knowledge
    bool shows_all = false;     ///< whether to show all details; for env: all selectors
    bool shows_video = false;   ///< for list: whether to show the video engines
    bool wants_script = false;  ///< for doctor: whether to print the safe fixes
    PlanArguments plan = {};
    RecommendArguments recommend = {};  ///< arguments of the verbs about variants
    FleetArguments fleet = {};
    CheckArguments check = {};
    CallArguments call = {};
    RunArguments run = {};
};

/// The output for a command line that runs no verb: help, or an error message.
struct Refusal {
    bool is_help = false;
    std::string text = {};  ///< the output, which ends with a newline
};

/// The result of parsing. Exactly one of the members is set.
struct Parsed {
    std::optional<Arguments> arguments = {};
    std::optional<Refusal> refusal = {};
};

/// Parses a command line that does not include the program's name. If `is_terminal` is true, -j
/// prints indented JSON; otherwise, -j prints JSON on one line.
Parsed parse_arguments(const std::vector<std::string>& words, bool is_terminal);

/// The rule that is passed to SetOverride.
Value override_rule_of(const Arguments& arguments);

}  // namespace gpuprobe::inline cli
