// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "policy/application_set.h"
#include "policy/decision.h"
#include "report/report.h"

/// Checks an application's data file for the author of the file: docs/data-files.md, "Check a data
/// file". A program that reads a manifest with unknown words accepts the manifest, and rejects only
/// variants with an unknown word, because the manifest may be newer than the program. This check
/// reports each unknown word to the author of the file.
namespace gpuprobe::inline policy {

/// A mistake makes the file useless, or makes readers drop the part that contains the mistake. A
/// warning is about an unknown word that does not resemble any known word.
enum class FindingGrade { Mistake, Warning };
constexpr std::array<EnumName<FindingGrade>, 2> names_of(FindingGrade) {
    return {{{FindingGrade::Mistake, "mistake"}, {FindingGrade::Warning, "warning"}}};
}

/// One finding about a data file. The strings in a finding contain words from the file, and are
/// safe to print.
struct DocumentFinding {
    FindingGrade grade = FindingGrade::Mistake;
    std::string path = {};     ///< path of the member in the file; empty for the whole file
    std::string problem = {};  ///< the rule that the file breaks
    std::optional<std::string> word = {};   ///< the unknown word
    std::optional<std::string> meant = {};  ///< the known word that is closest to `word`
    /// The object that contains `meant`, if this isn't the object that contains `word`.
    std::optional<std::string> place = {};
    bool operator==(const DocumentFinding&) const = default;
};
RECORD_MEMBERS(DocumentFinding, grade, path, problem, word, meant, place)

/// The result of a check.
struct DocumentCheck {
    std::vector<DocumentFinding> findings = {};
    /// False if the file may contain more mistakes, because kMaxDocumentFindings was reached or a
    /// mistake made it impossible to check other parts.
    bool is_complete = true;
    /// The data file in the form in which programs read it. This member is absent if programs
    /// refuse the file.
    std::optional<Application> application = {};

    [[nodiscard]] bool has_mistakes() const;
};

constexpr std::size_t kMaxDocumentFindings = 64;

/// Checks an application's data file, or a manifest as parse_manifest() reads it.
DocumentCheck check_document(std::string_view json);

/// The finding as a sentence, such as "PATH: unknown member; did you mean 'glibc_min'?".
std::string text_of(const DocumentFinding& finding);

/// The results that an application's data file gives on a machine. Members that belong to a part
/// that the file lacks are empty.
struct MachineOutcome {
    std::string machine = {};
    /// Status of the recommendation that is based on the manifest.
    std::optional<RecommendStatus> status = {};
    std::optional<std::string> variant = {};
    std::optional<Verdict> verdict = {};      ///< verdict on the variant
    std::vector<std::string> gpus = {};       ///< ids of the GPUs that the variant uses
    std::optional<std::string> backend = {};  ///< backend that the file's selection chooses
    std::vector<std::string> warnings = {};   ///< codes of reasons
};
RECORD_MEMBERS(MachineOutcome, machine, status, variant, verdict, gpus, backend, warnings)

/// Evaluates the parts of a data file on a machine as if the file were installed on that machine.
MachineOutcome outcome_on(const Application& application,
                          std::string machine,
                          const Report& report);

}  // namespace gpuprobe::inline policy
