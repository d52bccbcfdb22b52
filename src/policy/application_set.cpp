// SPDX-License-Identifier: Apache-2.0
#include "policy/application_set.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "base/value.h"
#include "knowledge/library.h"
#include "policy/rules.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::string_view kConsumerSchema = "gpuprobe.consumer/1";
constexpr std::string_view kSelection = "selection";
constexpr std::string_view kProduct = "product";
constexpr std::size_t kMaxConsumerName = 64;

Error malformed(std::string_view place, std::string_view problem) {
    return {ErrorCode::Malformed, std::string{place} + ": " + std::string{problem}};
}

/// A part of a data file as a complete data file. `shared` members come from the root.
Result<Value> whole_of(const Value& root,
                       std::string_view part,
                       Value schema,
                       std::initializer_list<std::string_view> shared) {
    auto whole = root.at(part);
    if (!whole.is_object())
        return malformed(part, "expected an object");
    // The part must not repeat members of the root.
    for (const auto member : {std::string_view{"schema"}, std::string_view{"name"},
                              std::string_view{"description"}, std::string_view{"source"}})
        if (whole.find(member))
            return malformed(part, std::string{member} + ": unknown member");
    whole["schema"] = std::move(schema);
    for (const auto member : shared)
        if (const auto* value = root.find(member))
            whole[member] = *value;
    return whole;
}

/// The lowest requirements among a product's variants. A minimum in the selection can refer to them
/// with the word "product" instead of repeating them.
class LeastNeeds {
public:
    explicit LeastNeeds(const Manifest& product) {
        for (const auto& platform : product.platforms)
            for (const auto& variant : platform.variants)
                for (const auto& device : variant.needs.devices)
                    for (const auto& term : device)
                        add(term);
    }

    /// Replaces the word in a predicate: "driver>=product or unknown" gets the driver version.
    [[nodiscard]] Result<std::string> in(std::string predicate) const {
        std::string gfx;
        for (const auto& [size, target] : gfx_)
            gfx += (gfx.empty() ? "" : "|") + target;
        const std::pair<std::string_view, std::string> needs[] = {
            {"gfx=", gfx},
            {"compute-capability>=", capability_ ? text_of(*capability_) : ""},
            {"driver>=", driver_ ? text_of(*driver_) : ""}};
        for (const auto& [fact, need] : needs) {
            if (!predicate.starts_with(std::string{fact} + std::string{kProduct}))
                continue;
            if (need.empty())
                return malformed("floors", predicate + ": no build says it");
            predicate.replace(fact.size(), kProduct.size(), need);
        }
        return predicate;
    }

private:
    /// Takes the lowest requirements of a term into account.
    void add(const Term& term) {
        const auto& rules = Rules::current();
        if (const auto* targets = std::get_if<std::vector<GfxTarget>>(&term.need))
            for (const auto& target : *targets)
                gfx_.emplace(text_of(target).size(), text_of(target));
        if (const auto* need = std::get_if<CudaDriverNeed>(&term.need))
            take_least(driver_,
                       need->min_driver ? need->min_driver : rules.cuda_floor(need->toolkit));
        if (const auto* code = std::get_if<CudaCode>(&term.need)) {
            std::optional<ComputeCapability> oldest;
            for (const auto* targets : {&code->sass, &code->ptx})
                for (const auto& target : targets->value_or(std::vector<CodeTarget>{}))
                    take_least(oldest, std::optional{target.capability});
            take_least(capability_, oldest ? oldest : rules.oldest_capability(code->toolkit));
        }
    }

    template <class T>
    static void take_least(std::optional<T>& least, const std::optional<T>& other) {
        if (other && (!least || *other < *least))
            least = other;
    }

    /// Of all variants; a shorter name is older.
    std::set<std::pair<std::size_t, std::string>> gfx_ = {};
    std::optional<ComputeCapability> capability_ = {};
    std::optional<Version> driver_ = {};
};

/// Replaces the word "product" in the minimums of the selection.
Status fill_floors(Value& selection, const Manifest& product) {
    auto* floors = selection.find("floors");
    auto* backends = floors ? floors->as_object() : nullptr;
    if (!backends)
        return Done{};
    const LeastNeeds least{product};
    for (auto& backend : *backends)
        if (auto* predicates = backend.value.as_array())
            for (auto& predicate : *predicates)
                if (const auto* text = predicate.as_string())
                    predicate = Value{TRY(least.in(*text))};
    return Done{};
}

/// Reads a data file that has both parts. The product comes first because minimums can refer to it.
Result<Consumer> consumer_from(const Value& root) {
    constexpr std::string_view kMembers[] = {"schema", "name",     "description",
                                             "source", kSelection, kProduct};
    for (const auto& [key, value] : *root.as_object())
        if (std::ranges::find(kMembers, key) == std::end(kMembers))
            return malformed(scrubbed(key, kMaxConsumerName), "unknown member");
    Consumer consumer;
    if (root.find(kProduct)) {
        const auto part = TRY(whole_of(root, kProduct, kManifestSchema, {"name", "source"}));
        consumer.product = TRY(manifest_from(part));
    }
    if (root.find(kSelection)) {
        auto part = TRY(whole_of(root, kSelection, 1, {"name", "description", "source"}));
        TRY(fill_floors(part, consumer.product.value_or(Manifest{})));
        consumer.selection = TRY(profile_from(part));
    }
    return consumer;
}

/// Parses a data file in any of its three formats; its parts may be missing.
Result<Consumer> consumer_in(std::string_view json, std::string_view place) {
    const auto root = parse_json(json, kMaxManifest);
    if (!root)
        return Error{root.error()}.in(place);
    Consumer consumer;
    // `schema` is a text in the full format, a number in a profile, and anything else is a
    // manifest.
    if (root->at("schema") == Value{kConsumerSchema}) {
        consumer = TRY(consumer_from(*root));
    } else if (root->at("schema").as_int()) {
        consumer.selection = TRY(profile_from(*root));
    } else {
        consumer.product = TRY(manifest_from(*root));
    }
    if (consumer.product)
        consumer.product->sha256 = sha256_of(json);
    return consumer;
}

}  // namespace

Result<Consumer> parse_consumer(std::string_view json) {
    auto consumer = TRY(consumer_in(json, "consumer"));
    if (!consumer.selection && !consumer.product)
        return malformed("consumer", "neither selection nor product");
    consumer.name = consumer.selection ? consumer.selection->name : consumer.product->name;
    if (consumer.name.empty())
        return malformed("name", "missing");
    return consumer;
}

Result<Manifest> parse_product(std::string_view json) {
    auto consumer = TRY(consumer_in(json, "manifest"));
    if (!consumer.product)
        return malformed("manifest", "has no variants");
    return std::move(*consumer.product);
}

Error unknown_name(ErrorCode code,
                   std::string_view what,
                   std::string_view name,
                   const std::vector<std::string>& known) {
    const auto near = closest(name, known);
    const auto* list = code == ErrorCode::NotFound ? "products" : "consumers";
    return {code, std::string{what} + " '" + scrubbed(name, kMaxConsumerName) + "'; " +
                      (near ? "did you mean '" + *near + "'?"
                            : "'gpuprobectl " + std::string{list} + "' lists them")};
}

ConsumerSet ConsumerSet::with_builtins() {
    ConsumerSet set;
    set.library_ = knowledge::Library::current();
    // The file is named after its application; tests/unit/policy/application_set_test.cpp checks that.
    for (const auto& [name, document] : set.library_->below("consumers"))
        set.entries_[name].unread = document->json;
    return set;
}

Status ConsumerSet::add(std::string_view json, std::string_view origin) {
    auto consumer = parse_consumer(json);
    if (!consumer)
        return std::move(consumer).error().in(origin);
    if (entries_.size() >= kMaxConsumers && !entries_.contains(consumer->name))
        return Error{ErrorCode::TooLarge, std::string{origin} + ": more than " +
                                              std::to_string(kMaxConsumers) + " consumers"};
    auto& entry = entries_[consumer->name];
    if (consumer->selection) {
        entry.consumer.selection = std::move(consumer->selection);
        entry.has_selection = true;
    }
    if (consumer->product) {
        entry.consumer.product = std::move(consumer->product);
        entry.has_product = true;
    }
    return Done{};
}

/// Determines which parts an unparsed file has, without reading them.
void ConsumerSet::see_parts(Entry& entry) {
    if (entry.has_been_seen)
        return;
    entry.has_been_seen = true;
    const auto root = parse_json(entry.unread, kMaxManifest).value_or({});
    entry.has_selection = entry.has_selection || root.find(kSelection);
    entry.has_product = entry.has_product || root.find(kProduct);
}

const Consumer* ConsumerSet::find(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
        return nullptr;
    auto& entry = found->second;
    if (!entry.unread.empty()) {
        see_parts(entry);
        // Tests check that each file is valid and has the name of its application.
        auto read = parse_consumer(std::exchange(entry.unread, {}));
        if (!read)  // the file may come from a package for another version
            read = parse_consumer(knowledge::compiled_in_text("consumers/" + std::string{name}));
        auto builtin = std::move(read).value_or({});
        // Parts that were added before take precedence.
        if (!entry.consumer.selection)
            entry.consumer.selection = std::move(builtin.selection);
        if (!entry.consumer.product)
            entry.consumer.product = std::move(builtin.product);
    }
    return &entry.consumer;
}

const Profile* ConsumerSet::selection(std::string_view name) const {
    const auto* consumer = find(name);
    return consumer && consumer->selection ? &*consumer->selection : nullptr;
}

const Manifest* ConsumerSet::product(std::string_view name) const {
    const auto* consumer = find(name);
    return consumer && consumer->product ? &*consumer->product : nullptr;
}

std::vector<std::string> ConsumerSet::names_with(bool Entry::*part) const {
    std::vector<std::string> names;
    for (auto& [name, entry] : entries_) {
        see_parts(entry);
        if (entry.*part)
            names.push_back(name);
    }
    return names;
}

std::vector<std::string> ConsumerSet::names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
        names.push_back(name);
    return names;
}

std::vector<std::string> ConsumerSet::consumers() const {
    return names_with(&Entry::has_selection);
}

std::vector<std::string> ConsumerSet::products() const {
    return names_with(&Entry::has_product);
}

}  // namespace gpuprobe::inline policy
