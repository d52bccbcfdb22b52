// SPDX-License-Identifier: Apache-2.0
#include "plan/model_document.h"

#include <array>

#include "base/record.h"
#include "base/text.h"
#include "base/value.h"

namespace gpuprobe::inline plan {
namespace {

constexpr std::string_view kSchema = "gpuprobe.model/1";
constexpr std::array<std::string_view, 3> kGeneral = {"general.architecture", "general.name",
                                                      "general.type"};

Error malformed(std::string_view where, std::string_view reason) {
    return {ErrorCode::Malformed,
            "model: " + scrubbed(where, kMaxGgufNameBytes) + ": " + std::string{reason}};
}

/// An integer or boolean. nullopt for other types; as in a file, only their key is kept then.
std::optional<std::int64_t> integer_of(const Value& value) {
    if (const auto flag = value.as_bool())
        return *flag ? 1 : 0;
    return value.as_int();
}

std::optional<GgufValue> list_of(const Value::Array& items) {
    if (items.size() > kMaxGgufListItems)
        return std::nullopt;
    std::vector<std::int64_t> numbers;
    for (const auto& item : items) {
        const auto number = integer_of(item);
        if (!number)
            return std::nullopt;
        numbers.push_back(*number);
    }
    return GgufValue{std::move(numbers)};
}

/// The value as the reader of files would keep it, with the same limits.
std::optional<GgufValue> kept(const Value& value) {
    if (const auto* text = value.as_string())
        return text->size() > kMaxGgufTextBytes ? std::nullopt : std::optional<GgufValue>{*text};
    if (const auto* items = value.as_array())
        return list_of(*items);
    if (const auto number = integer_of(value))
        return GgufValue{*number};
    return std::nullopt;
}

// The limits are the same as for a file.
Status read_metadata(const Value& metadata, Gguf& gguf) {
    const auto* members = metadata.as_object();
    if (!members)
        return malformed("metadata", wrong_type(metadata, "object"));
    if (members->size() > kMaxGgufKeys)
        return malformed("metadata", "more than 4096 keys");
    for (const auto& member : *members) {
        // GGUF has no values that are objects.
        if (member.key.empty() || member.value.is_object())
            return malformed("metadata", "a value that is no number, text or list");
        gguf.keys.insert(member.key);
        if (auto value = kept(member.value))
            gguf.values.emplace(member.key, std::move(*value));
    }
    return Done{};
}

/// One item of `tensors`, with the fields that a file lists.
struct TensorRecord {
    std::string name = {};
    std::string type = {};
    std::vector<std::uint64_t> shape = {};
};
RECORD_MEMBERS(TensorRecord, name, type, shape)

Status read_tensors(const Value& tensors, Gguf& gguf) {
    const auto* items = tensors.as_array();
    if (!items)
        return malformed("tensors", wrong_type(tensors, "list"));
    if (items->size() > kMaxGgufTensors)
        return malformed("tensors", "more than 65536");
    std::set<std::string> seen;
    for (const auto& item : *items) {
        auto record = strict_record_from<TensorRecord>(item);
        if (!record)
            return malformed("tensors[" + std::to_string(gguf.tensors.size()) + "]",
                             record.error().text);
        // Names appear in messages: accept only names that scrubbing leaves unchanged.
        auto name = scrubbed(record->name, kMaxGgufNameBytes);
        if (name != record->name || !seen.insert(name).second)
            return malformed(name, "a tensor's name that is no text, too long or there twice");
        auto tensor = tensor_of(std::move(name), ggml_type(record->type), record->shape);
        if (!tensor)
            return malformed("tensors", tensor.error().text);
        gguf.tensors.push_back(std::move(*tensor));
    }
    return Done{};
}

Value value_of(const GgufValue& value) {
    return std::visit([](const auto& kept) { return to_value(kept); }, value);
}

}  // namespace

Result<Model> model_from_document(std::string_view json) {
    auto root = parse_json(json, kMaxModelDocument);
    if (!root)
        return std::move(root).error().in("model");
    const auto* members = root->as_object();
    const auto* schema = root->at("schema").as_string();
    if (!members || !schema || *schema != kSchema)
        return malformed("schema", "expected gpuprobe.model/1");
    for (const auto& member : *members)
        if (member.key != "schema" && member.key != "metadata" && member.key != "tensors")
            return malformed(member.key, "unknown member");
    Gguf gguf;
    TRY(read_metadata(root->at("metadata"), gguf));
    TRY(read_tensors(root->at("tensors"), gguf));
    // From here on, the document is treated like the header of a file.
    auto model = model_of(gguf);
    if (!model)
        return std::move(model).error().in("model");
    return model;
}

// Copy only keys of the model's own architecture and a few general ones: other metadata may be long
// or private.
Value model_document_of(const Gguf& gguf) {
    const auto own = gguf.text("general.architecture").value_or("") + ".";
    Value metadata{Value::Object{}};
    for (const auto& key : gguf.keys) {
        if (!key.starts_with(own) && std::ranges::find(kGeneral, key) == kGeneral.end())
            continue;
        const auto found = gguf.values.find(key);
        // A key whose value was skipped is written as null, because its presence counts.
        metadata[key] = found == gguf.values.end() ? Value{} : value_of(found->second);
    }
    Value::Array tensors;
    for (const auto& tensor : gguf.tensors)
        tensors.push_back(to_value(TensorRecord{.name = tensor.name,
                                                .type = std::string{tensor.type},
                                                .shape = {tensor.width, tensor.rows}}));
    Value document{Value::Object{}};
    document["schema"] = kSchema;
    document["metadata"] = std::move(metadata);
    document["tensors"] = Value{std::move(tensors)};
    return document;
}

}  // namespace gpuprobe::inline plan
