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

/// The terms of causes (policy/causes.h): those over facts ("vendor=nvidia"), and in the same
/// three-valued logic terms over whatever a report holds, by its path:
///
///     gpu.findings[code=no-permission].detail.node=/dev/nvidia*
///
/// A path begins with `gpu`, `accelerator` or `device` (what is examined), a name of Scene::roots,
/// or, as ".node", with the evidence at hand. Of a list every item is meant, and so is every member
/// after `*`; "[…]" keeps those on which a term holds. "{api}" in a name stands for that member of
/// the evidence. A value is one of several words between `|` with `*` and `?` in them, or after `$`
/// another path. A path alone holds where something is there that is not false, empty or 0.
namespace gpuprobe::inline policy {

/// What a path can begin with. All are borrowed.
struct Scene {
    const Value* roots = nullptr;   ///< an object: `report`, `host`, `here`, `place` …
    const Value* device = nullptr;  ///< null for what is of the machine
    const Facts* facts = nullptr;   ///< of the same machine and device, for terms over facts
    const Value* evidence = nullptr;
};

/// A value that a path leads to, and the last name that a `*` stood for.
struct Met {
    const Value* value = nullptr;
    std::string_view key = {};
};

struct PathStep;

// Steps hold terms and terms hold steps: what is not complete yet has no initialiser, for which
// libc++ would have to know how to destroy it.
struct Path {
    std::string root = {};  ///< empty: the evidence
    std::vector<PathStep> steps;
    Value text = {};  ///< of "'text", which leads to itself
};

struct PathTerm {
    Path path;
    Relation relation = Relation::Never;  ///< Never: something is there
    std::vector<std::string> words = {};
    std::vector<Path> other;  ///< one, in place of the words
};

struct PathStep {
    std::string name = {};
    std::vector<PathTerm> filter = {};  ///< none or one
};

/// "A and B or C or unknown": all of the clauses hold, of each of which one alternative does.
struct Condition {
    struct Clause {
        std::vector<std::variant<PathTerm, Term>> alternatives = {};
        bool takes_doubt = false;  ///< its last word is "unknown"
    };
    std::vector<Clause> clauses = {};
};

/// Both are texts in a document.
ReadProblem read_value(const Value& value, Condition& condition);
ReadProblem read_value(const Value& value, Path& path);

/// What the path leads to; null values are not met.
std::vector<Met> met_by(const Path& path, const Scene& scene);
Truth holds(const Condition& condition, const Scene& scene);
bool all_hold(const std::vector<Condition>& conditions, const Scene& scene);

/// A text, number or flag as terms compare it, in its own case; empty for anything else.
std::string word_of(const Value& value);

}  // namespace gpuprobe::inline policy
