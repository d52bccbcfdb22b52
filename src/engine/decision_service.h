// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/feedback.h"
#include "engine/knowledge_folders.h"
#include "policy/consumer_set.h"
#include "policy/decision.h"
#include "policy/recommend.h"

namespace gpuprobe::engine {

/// Who wants a decision, and on what it is based; borrowed for one call.
struct CallerContext {
    uid_t uid = 0;
    const Report& machine;
    const Report& seen;  ///< the machine as this user may see it
    WallTime now = {};
};

/// Selects backends and recommends variants: by the documents of consumers and the feedback that
/// people gave on this machine.
class DecisionService {
public:
    struct Folders {
        std::vector<std::string> consumers = {};         ///< later ones add and replace
        std::optional<KnowledgeFolders> knowledge = {};  ///< without any, what is compiled in
        std::optional<std::string> state = {};  ///< without one, feedback ends with this object
        store::Outcomes::AccountOf account_of = {};  ///< see EngineOptions
    };
    explicit DecisionService(Folders folders);

    /// Reads the folders of knowledge and consumers again; feedback stays.
    void reload();

    /// One note for each file that was ignored or set aside.
    [[nodiscard]] std::vector<Reason> notes() const;
    [[nodiscard]] std::vector<std::string> consumers() const {
        return documents_.consumers.consumers();
    }
    [[nodiscard]] std::vector<std::string> products() const {
        return documents_.consumers.products();
    }
    [[nodiscard]] Feedback& feedback() { return feedback_; }
    [[nodiscard]] const Feedback& feedback() const { return feedback_; }

    /// Applies the override for that consumer and the caller's reported failures.
    /// Errors: UnknownConsumer, InvalidRequest, UnknownDevice.
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request,
                                          const CallerContext& caller) const;
    /// Likewise. `manifest` is the text of a manifest, and `product` then names it if it has no
    /// name of its own; if it is empty, `product` names an installed manifest. Errors: NotFound for
    /// a product that is not installed, TooLarge and Malformed for a manifest, InvalidRequest.
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   const CallerContext& caller) const;

    /// Merges the rule into what is decided for that consumer or product, key by key; a rule that
    /// says nothing any more is cleared. Errors: UnknownConsumer; InvalidRequest and UnknownDevice
    /// for what is not there, with the nearest word; and those of Feedback.
    Status set_override(const std::string& consumer, const Value& rule, const CallerContext& by);
    /// Errors: likewise, of the outcome's words. A product that is not installed has words of its
    /// own.
    Status report(const OutcomeReport& outcome, const CallerContext& by);

private:
    [[nodiscard]] Status check_name(const std::string& consumer, bool may_be_foreign) const;
    /// The built-in documents and those of the folders.
    struct Documents {
        ConsumerSet consumers;
        Rules rules;
        std::vector<Reason> ignored = {};  ///< one note for each file that is none of these
    };
    static Documents read(const Folders& folders);
    [[nodiscard]] Result<Manifest> manifest_of(const std::string& product,
                                               std::string_view manifest) const;

    Folders folders_;
    Documents documents_;
    Feedback feedback_;
    std::vector<Reason> set_aside_ = {};  ///< one note for each file of feedback that was broken
};

}  // namespace gpuprobe::engine
