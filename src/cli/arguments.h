// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/value.h"
#include "cli/terminal.h"

namespace gpuprobe::inline cli {

enum class JsonMode { Off, Short, Pretty };

struct SelectArguments {
    std::string consumer = "default";
    bool names_consumer = false;  ///< rather than leaving it to the default
    /// What SelectBackend takes (policy/request_table.h), but `gpus` are any selectors: the verb
    /// turns them into ids.
    Value request = Value{Value::Object{}};
    bool for_build = false;  ///< of env: flags to build with, not variables to run with

    [[nodiscard]] bool explains() const { return request.at("explain").as_bool() == true; }
};

struct OverrideArguments {
    std::string action = "list";  ///< set, clear or list
    std::optional<std::string> consumer = {};
    Value variants = Value{Value::Object{}};  ///< of a rule, as RecommendVariant takes it
};

struct OutcomeArguments {
    std::string result = {};  ///< "ok" or "failed"
    std::optional<std::string> backend = {};
    std::optional<std::string> variant = {};
    std::optional<std::string> family = {};
    std::vector<std::string> gpus = {};  ///< any selector
    std::optional<std::string> detail = {};
};

struct KnowledgeArguments {
    std::string action = "status";  ///< status, verify, update or rollback
    std::optional<std::string> file = {};
};

struct QuarantineArguments {
    std::string action = "list";  ///< clear or list
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
    bool is_all = false;
};

/// The words after "plan".
struct PlanArguments {
    std::optional<std::string> model_file = {};
    bool is_beginning = false;               ///< the file holds the start of a model only
    Value request = Value{Value::Object{}};  ///< what plan_request_from takes
    std::string format = {};                 ///< a program whose arguments are printed
    bool prints_model = false;               ///< as a document
};

struct RecommendArguments {
    std::string product = {};                  ///< of recommend; of export it may be empty
    std::optional<std::string> manifest = {};  ///< a file
    Value request = Value{Value::Object{}};    ///< what RecommendVariant takes
    std::optional<std::string> force = {};
    bool chain = false;
    std::string format = {};                  ///< of export
    std::optional<std::string> file = {};     ///< of verify
    std::optional<std::string> variant = {};  ///< of verify
};

/// Of export and selector, beside RecommendArguments.
struct FleetArguments {
    std::vector<std::string> products = {};
    std::optional<std::string> output = {};  ///< a file; absent or "-": standard output
    std::optional<std::string> check = {};   ///< a file
    bool installs = false;                   ///< into the file that the engine reads
    std::optional<std::string> node = {};    ///< the machine's name in its cluster
    std::optional<unsigned> mode = {};       ///< permission bits of the file
    std::optional<int> every = {};           ///< again after so many seconds, until interrupted
    std::string engine = {};
    std::string variant = {};
    std::vector<std::string> features = {};  ///< that the cluster has
    bool by_verdict = false;
    bool allows_weaker = false;
    std::string platform = {};
};

/// The words after "run"; of watch, the process.
struct RunArguments {
    std::vector<std::string> program = {};   ///< behind "--"
    std::optional<std::string> expect = {};  ///< a backend or an API; "cpu": no GPU
    bool falls_back = false;                 ///< to the next candidate when one fails
    std::optional<std::string> report = {};  ///< a file
    bool wants_json = false;                 ///< on standard error: the program has the other
    std::optional<std::uint64_t> pid = {};   ///< of watch
    bool looks_once = false;                 ///< of watch
};

struct CallArguments {
    std::string method = {};
    std::string parameters = "{}";  ///< "-": on standard input
};

/// One command line, read.
struct Arguments {
    std::string verb = "status";

    bool wants_help = false;
    bool wants_version = false;
    bool wants_json = false;  ///< -j: in which form depends on where it goes
    JsonMode json = JsonMode::Off;
    ColourMode colour = ColourMode::Auto;
    bool has_legend = true;
    bool is_quiet = false;

    std::optional<std::string> bus = {};     ///< "system", "session" or a D-Bus address
    std::optional<std::string> socket = {};  ///< a path
    bool is_direct = false;
    std::optional<std::string> replay = {};
    std::optional<std::string> worker = {};
    std::vector<std::string> profile_folders = {};
    std::string knowledge_root = {};  ///< in place of "/", for documents of knowledge and keys
    bool has_cache = true;
    std::optional<int> patience = {};  ///< seconds, with --direct

    std::optional<std::string> topic = {};           ///< the verb that `help` is about
    std::vector<std::string> gpus = {};              ///< of show, describe, probe and bench
    std::vector<std::string> apis = {};              ///< of probe and bench
    bool allow_wake = false;                         ///< of probe and bench
    std::string stage = "query";                     ///< of probe
    bool measures_in_use = false;                    ///< of probe and bench
    std::optional<std::string> bundle = {};          ///< of doctor: a file for a bug report
    bool warnings_count = false;                     ///< of doctor
    std::optional<std::string> capture_folder = {};  ///< of capture
    bool redacts = false;                            ///< of capture
    bool keeps_driver_output = false;                ///< of a capture that is redacted
    SelectArguments select = {};                     ///< of select, env and override
    OverrideArguments overriding = {};               ///< of override
    OutcomeArguments outcome = {};                   ///< of report-outcome
    QuarantineArguments quarantine = {};             ///< of quarantine
    KnowledgeArguments knowledge = {};               ///< of knowledge
    bool shows_all = false;                          ///< of env: index forms as well
    bool wants_script = false;                       ///< of doctor: the safe fixes
    PlanArguments plan = {};
    RecommendArguments recommend = {};  ///< of all that is about variants
    FleetArguments fleet = {};
    CallArguments call = {};
    RunArguments run = {};
};

/// A command line that asks for nothing to be done: help, or a mistake.
struct Refusal {
    bool is_help = false;
    std::string text = {};  ///< with a final newline
};

/// Exactly one of the two is set.
struct Parsed {
    std::optional<Arguments> arguments = {};
    std::optional<Refusal> refusal = {};
};

/// Reads a command line without the program's name. `is_terminal` decides what -j means: pretty on
/// a terminal, short otherwise.
Parsed parse_arguments(const std::vector<std::string>& words, bool is_terminal);

/// The named values that SetOverride takes.
Value override_rule_of(const Arguments& arguments);

}  // namespace gpuprobe::inline cli
