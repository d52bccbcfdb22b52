// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/record.h"
#include "explain/explain.h"
#include "report/outcome.h"

namespace gpuprobe::inline explain {

/// Adds messages to all reasons in an answer that have no messages, so that clients do not have to
/// know the codes. Equal reasons share their messages.
///
/// A fix depends on the GPU and the backend of the candidate that has the reason. The GPU and the
/// backend are the members `gpu` and `backend` of the record that contains the reason.
class ReasonWriter {
public:
    /// A function that returns the known facts about the machine and the caller. The objects that
    /// the facts refer to must outlive this object. The function is called only when the first
    /// reason is found, because it may take a while.
    using PlaceOf = std::function<ReasonPlace()>;

    explicit ReasonWriter(PlaceOf place) : place_of_{std::move(place)} {}

    /// Adds messages to the reasons in `record`, and adds to each candidate the message that
    /// explains the candidate's verdict.
    template <Described T>
    void add_to(T& record) {
        Visitor visitor{*this};
        describe(visitor, record);
        if constexpr (std::same_as<T, Candidate> || std::same_as<T, VariantCandidate>) {
            drop_useless_fixes(record.reasons);
            if (!record.why)
                record.why =
                    explained(record, record.reasons.empty() ? ReasonPlace{} : place()).text;
        }
    }

private:
    /// The GPU and backend of the record that contains a reason; each string is empty if the record
    /// lacks that member.
    struct Owner {
        std::string gpu = {};
        std::string backend = {};
        auto operator<=>(const Owner&) const = default;
    };
    /// Visits the members of one record and of the records inside it.
    class Visitor {
    public:
        explicit Visitor(ReasonWriter& writer) : writer_{writer} {}

        template <class T>
        void operator()(std::string_view key, T& member) {
            if constexpr (std::convertible_to<const T&, std::optional<std::string>>)
                note(key, member);
            else
                visit(member);
        }

    private:
        void note(std::string_view key, const std::optional<std::string>& member);
        void visit(Reason& reason) const {
            if (!reason.words)
                reason.words = writer_.words_of(reason, owner_);
        }
        template <class T>
        void visit(std::optional<T>& maybe) const {
            if (maybe)
                visit(*maybe);
        }
        template <class T>
        void visit(std::vector<T>& items) const {
            if constexpr (Described<T>)
                for (auto& item : items)
                    visit(item);
        }
        template <class T>
        void visit(std::map<std::string, T>& items) const {
            if constexpr (Described<T>)
                for (auto& [key, item] : items)
                    visit(item);
        }
        template <class T>
        void visit(T& member) const {
            if constexpr (Described<T>)
                writer_.add_to(member);
        }

        ReasonWriter& writer_;
        Owner owner_ = {};
    };

    static void drop_useless_fixes(std::vector<Reason>& reasons);
    const ReasonPlace& place();
    std::shared_ptr<const ReasonWords> words_of(const Reason& reason, const Owner& owner);

    PlaceOf place_of_;
    std::optional<ReasonPlace> place_ = {};
    std::map<std::tuple<Reason, Owner>, std::shared_ptr<const ReasonWords>> known_ = {};
};

}  // namespace gpuprobe::inline explain
