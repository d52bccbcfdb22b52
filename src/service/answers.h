// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/units.h"
#include "base/value.h"
#include "engine/engine.h"
#include "explain/doctor.h"
#include "policy/decision.h"
#include "report/report.h"
#include "wire/dictionary.h"

namespace gpuprobe::inline service {

/// A cache of recent answers. Within one generation of the report, the same question has the same
/// answer for all callers who may open the same device nodes.
template <class Answer>
class AnswerCache {
public:
    static constexpr std::size_t kMaxAnswers = 32;  ///< enough: programs ask the same few questions
    static constexpr Bytes kMaxQuestion = kib(4);   ///< answers to longer questions are not cached

    AnswerCache() = default;
    /// `dropped`: called with each answer that is removed.
    explicit AnswerCache(std::function<void(const Answer&)> dropped)
        : dropped_{std::move(dropped)} {}

    /// The cached answer; nullptr if there is none. Drops all answers of other generations. The
    /// question must begin with the class of callers who share its answer.
    [[nodiscard]] const Answer* find(std::uint64_t generation, const std::string& question) {
        if (generation != generation_)
            clear();
        generation_ = generation;
        const auto known = std::ranges::find(entries_, question, &Entry::question);
        if (known == entries_.end())
            return nullptr;
        entries_.splice(entries_.begin(), entries_, known);
        return &known->answer;
    }
    /// Adds an answer for the generation passed to the last find(). A full cache drops the least
    /// recently used answer.
    void keep(std::string question, Answer answer) {
        if (question.size() > kMaxQuestion.count)
            return;
        if (entries_.size() >= kMaxAnswers) {
            drop(entries_.back());
            entries_.pop_back();
        }
        entries_.push_front(Entry{.question = std::move(question), .answer = std::move(answer)});
    }
    /// Drops all answers. Call this when something changes without a new generation.
    void clear() {
        for (const auto& entry : entries_)
            drop(entry);
        entries_.clear();
    }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string question = {};
        Answer answer = {};
    };

    void drop(const Entry& entry) {
        if (dropped_)
            dropped_(entry.answer);
    }

    std::function<void(const Answer&)> dropped_ = {};
    std::uint64_t generation_ = 0;
    std::list<Entry> entries_ = {};  ///< most recently used first
};

/// The cache key of a question on the bus. `access`: the class of callers who share its answer.
std::string question_of(const std::string& access,
                        const std::string& application,
                        const Value& request);

/// The result of an API for a GPU, without its facts, because not all users may see all facts.
struct ApiAnswer {
    Outcome outcome = Outcome::Absent;
    std::vector<Reason> reasons = {};
    bool operator==(const ApiAnswer&) const = default;
};
RECORD_MEMBERS(ApiAnswer, outcome, reasons)

/// The values of a Gpu object's properties. D-Bus has no null, so unknown values are "" or 0.
struct GpuProperties {
    std::string id = {};
    std::string kind = {};
    std::string vendor = {};
    std::string name = {};
    std::string title = {};  ///< name to show to users, from gpu_title()
    std::string pci_address = {};
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    std::string driver = {};
    std::uint64_t memory_total = 0;  ///< bytes
    std::string health = {};
    std::map<std::string, BackendView> backends = {};
    std::map<std::string, ApiAnswer> apis = {};
    std::map<std::string, std::string> environment = {};
    std::vector<Partition> partitions = {};
};

/// The properties of a GPU, with texts that are valid on the bus. `open_to_all`: the result of
/// open_to_all(). All users can read properties, so environment variables identify GPUs only by
/// facts from that report.
GpuProperties properties_of(const Gpu& gpu, const Report& open_to_all);
/// The report as seen by a user who may open only the nodes that all users may open.
Report open_to_all(const Report& report);

/// The bus names of the properties that changed and emit change signals. `has_other_words`: the
/// suggested fixes have changed.
std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after,
                                            bool has_other_words);

/// The id as an element of an object path: each byte that is not an ASCII letter or digit becomes
/// "_".
std::string path_element(std::string_view id);

/// The path that identifies a partition of the GPU at `path`. No object is exported there.
std::string partition_path(const std::string& path, std::string_view name);

// The answers of D-Bus methods, encoded as dictionaries. Keys and types: dbus/*.xml.

/// Maps a GPU's id to its object path.
using PathOf = std::function<std::string(const std::string& id)>;

/// Returns the doctor's findings for the machine that an answer describes.
using FindingsOf = std::function<std::vector<Finding>()>;

/// An encoding that adds text and fix to each reason and replaces GPU ids by object paths.
/// `findings` is called once, when the first reason is encoded; without it, fixes are the generic
/// ones. Only host and is_root of `machine` are used.
bus::BusEncoding spelling_for(PathOf path_of = {},
                              FindingsOf findings = {},
                              const ReasonPlace& machine = {});

/// The answer of SelectBackend. `explains`: include all candidates. If no backend was chosen,
/// Backend is "".
bus::Dictionary answer_from(Decision decision, bool explains, const bus::BusEncoding& encoding);
/// The answer of RecommendVariant. If the candidates have too many reasons for a bus message, the
/// reasons lose their details; if there are still too many, they are left out.
bus::Dictionary answer_from(Recommendation recommendation,
                            bool explains,
                            const bus::BusEncoding& encoding);
/// The answer of GetMemory.
bus::Dictionary answer_from(const engine::LiveMemory& memory);
/// The known identifiers that distinguish a GPU from others of the same model: NvidiaUuid,
/// HipUniqueId, CanonicalUuid, Luid, and identifiers from the APIs (VulkanDeviceUuid …).
std::map<std::string, std::string> identifiers_of(const Gpu& gpu);
/// The probes of the requested stage and APIs (all APIs if the request names none), with the
/// generation of the report that contains them.
bus::Dictionary probe_answer(const Report& report, const ProbeRequest& request);
/// Maps each backend to Usable, Verified, Score, Verification, Measurement and Reasons. `findings`:
/// the doctor's findings, for the fixes.
std::map<std::string, bus::Dictionary> backends_from(
    const std::map<std::string, BackendView>& backends,
    const std::string& gpu,
    const std::vector<Finding>& findings);

/// Maps each API to Outcome and Reasons.
std::map<std::string, bus::Dictionary> apis_from(const std::map<std::string, ApiAnswer>& apis,
                                                 const std::string& gpu,
                                                 const std::vector<Finding>& findings);

/// The message of Error.NoMatch: one human-readable line.
std::string no_match_message(const Decision& decision);

}  // namespace gpuprobe::inline service
