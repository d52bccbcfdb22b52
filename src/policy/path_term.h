// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/value.h"
#include "policy/term.h"

/// The terms of causes (policy/causes.h). Some are over facts ("vendor=nvidia"); others use the
/// same three-valued logic over any value in a report, which they name by its path:
///
///     gpu.findings[code=no-permission].detail.node=/dev/nvidia*
///
/// A path begins with `gpu`, `accelerator` or `device` (the device being examined), with a name in
/// Scene::roots, or with a dot (".node") for the current evidence. A path visits every item of a
/// list, and every member after `*`; "[…]" keeps the items for which a term holds. "{api}" as a
/// name is replaced by that member of the evidence. A value is a list of words separated by `|`,
/// which may contain `*` and `?`, or another path after `$`. A path without a value holds if it
/// reaches a value that isn't false, empty or 0.
namespace gpuprobe::inline policy {

/// The evidence that paths are resolved against. All pointers are borrowed.
struct Scene {
    const Value* roots = nullptr;   ///< an object with `report`, `host`, `here`, `place` …
    const Value* device = nullptr;  ///< null when the machine is examined
    const Facts* facts = nullptr;   ///< facts of the same machine and device, for terms over facts
    /// the current evidence, for paths that begin with a dot
    const Value* evidence = nullptr;
};

/// A value that a path reaches, and the last name that a `*` matched.
struct Met {
    const Value* value = nullptr;
    std::string_view key = {};
};

struct PathStep;

// Steps contain terms and terms contain steps, so some types below are incomplete. Their members
// have no initializer because libc++ would then need the destructor of the incomplete type.
struct Path {
    std::string root = {};  ///< empty for the evidence
    std::vector<PathStep> steps;
    Value text = {};  ///< for a path "'text": the literal that it yields
};

/// A condition on the values that a path reaches.
struct PathTerm {
    Path path;
    Relation relation = Relation::Never;  ///< Never: only that a value exists
    std::vector<std::string> words = {};
    std::vector<Path> other;  ///< at most one path, whose values replace the words
};

/// One name in a path, with its filter.
struct PathStep {
    std::string name = {};
    std::vector<PathTerm> filter = {};  ///< at most one term
};

/// "A and B or C or unknown": every clause holds, and a clause holds if one of its alternatives
/// does.
struct Condition {
    struct Clause {
        std::vector<std::variant<PathTerm, Term>> alternatives = {};
        bool takes_doubt = false;  ///< whether the clause ends in "unknown"
    };
    std::vector<Clause> clauses = {};
};

/// Both read a text of a data file.
ReadProblem read_value(const Value& value, Condition& condition);
ReadProblem read_value(const Value& value, Path& path);

/// The values that the path reaches, without nulls.
std::vector<Met> met_by(const Path& path, const Scene& scene);
Truth holds(const Condition& condition, const Scene& scene);
/// Whether every condition is true; unknown counts as false.
bool all_hold(const std::vector<Condition>& conditions, const Scene& scene);

/// A text, number or flag as terms compare it, with its case kept; empty for anything else.
std::string word_of(const Value& value);

}  // namespace gpuprobe::inline policy
