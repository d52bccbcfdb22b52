// SPDX-License-Identifier: Apache-2.0
#include "plan/model.h"

#include <algorithm>
#include <array>

#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "plan/layers.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

/// Number of tokens in the output of an encoder; used if the file does not specify the number.
constexpr std::uint64_t kUsualEncoding = 512;

/// Whether a tensor is a look-up table, which stays on the CPU. Source: llama.cpp never offloads
/// input tensors, such as LLM_TENSOR_TOKEN_EMBD.
bool is_embedding(std::string_view tensor) {
    return tensor.starts_with("token_embd") || tensor.starts_with("per_layer_token_embd") ||
           tensor.starts_with("token_types") || tensor.starts_with("position_embd");
}

/// Adds up the weights, separately for each place into which weights are loaded. Errors: Malformed
/// if the number of a layer is too high.
Status weigh(const Gguf& gguf, Model& model) {
    Bytes token_embedding;
    bool has_output = false;
    for (const auto& tensor : gguf.tensors) {
        if (const auto layer = layer_of(tensor.name)) {
            if (*layer >= model.layers.size())
                return Error{ErrorCode::Malformed,
                             tensor.name +
                                 ": not a layer of the model, whose number of layers is " +
                                 std::to_string(model.layers.size())};
            auto& shape = model.layers[*layer];
            if (shape.is_unused)
                continue;
            shape.weights = sum(shape.weights, tensor.size);
            shape.largest = std::max(shape.largest, tensor.size);
        } else if (is_embedding(tensor.name)) {
            model.embedding = sum(model.embedding, tensor.size);
            if (tensor.name == "per_layer_token_embd.weight")
                model.extra_width = std::min(tensor.width, kMaxWidth);
            if (tensor.name == "token_embd.weight") {
                token_embedding = tensor.size;
                model.vocabulary = std::min(tensor.rows, kMaxWidth);
            }
        } else {
            model.output = sum(model.output, tensor.size);
            has_output = has_output || tensor.name == "output.weight";
        }
    }
    const auto has = [&](std::string_view name) {
        return std::ranges::find(gguf.tensors, name, &GgufTensor::name) != gguf.tensors.end();
    };
    // If there is no output_norm tensor, token_embd_norm is the output norm (LFM2).
    model.has_embedding_norm =
        has("token_embd_norm.weight") && (has("output_norm.weight") || !model.has_logits);
    model.has_position_rows = has("position_embd.weight");
    if (!has_output && architecture_named(model.architecture)
                           // if the embedding is tied, the matrix is used both for the input and
                           // for the output, and both the host and the GPU have a copy
                           .ties_output)
        model.output = sum(model.output, token_embedding);
    return Done{};
}

/// Whether the cache has one compressed row for each token (latent attention). In latent attention,
/// values are read from the compressed row.
bool has_latent_cache(const Keys& keys) {
    return keys.width("attention.kv_lora_rank") > 0 &&
           (keys.has("attention.key_length_mla") ||
            keys.of_layer("attention.head_count_kv", 0, 0) == 1);
}

/// The cache of a layer that compresses tokens (DeepSeek V4) has one row of keys; the values are a
/// view of the keys. The tokens that have not been compressed yet are stored in f32, in two copies.
/// If the compression is 4, adjacent groups of tokens overlap. Source: llama_kv_cache_dsv4 of
/// llama.cpp v0.5.0.
void shape_compressed(const Keys& keys, std::size_t index, LayerShape& layer) {
    constexpr std::uint64_t kOverlapping = 4;
    constexpr std::uint64_t kFloats = 2 * 4;
    layer.key_length = keys.width("attention.key_length");
    layer.compression = keys.of_layer("attention.compress_ratios", index, 0);
    if (layer.compression != kOverlapping) {
        layer.state = Bytes{product(kFloats, layer.compression, layer.key_length)};
        return;
    }
    layer.index_length = keys.width("attention.indexer.key_length");
    layer.state = Bytes{
        product(kFloats, 2 * kOverlapping, product(2, sum(layer.key_length, layer.index_length)))};
}

/// Sets the cache of a layer with attention.
void shape_attention(
    const Keys& keys, std::size_t index, bool is_windowed, std::uint64_t heads, LayerShape& layer) {
    const auto per_head = keys.width("embedding_length") /
                          std::max<std::uint64_t>(keys.of_layer("attention.head_count", 0, 1), 1);
    layer.is_cached = architecture_named(keys.architecture()).has_cache;
    layer.is_windowed = is_windowed;
    if (has_latent_cache(keys)) {
        layer.key_heads = 1;
        layer.key_length =
            sum(keys.width("attention.kv_lora_rank"), keys.width("rope.dimension_count"));
        return;
    }
    layer.key_heads = heads;
    if (keys.has("attention.compress_ratios"))
        return shape_compressed(keys, index, layer);
    layer.key_length = keys.width("attention.key_length", per_head);
    layer.value_length = keys.width("attention.value_length", per_head);
    // The heads of windowed layers may have a different size.
    if (is_windowed) {
        layer.key_length = keys.width("attention.key_length_swa", layer.key_length);
        layer.value_length = keys.width("attention.value_length_swa", layer.value_length);
    }
}

/// The number of layers, not counting layers for next-token prediction, and how many of these
/// layers, counted from the first layer, have their own cache. The other layers may read the caches
/// of layers that have their own cache.
struct LayerKinds {
    std::size_t used = 0;
    std::size_t with_cache = 0;
};
LayerKinds kinds_of(const Keys& keys, std::size_t layers) {
    const auto used = layers - std::min<std::size_t>(keys.width("nextn_predict_layers"), layers);
    return {
        .used = used,
        .with_cache = used - std::min<std::size_t>(keys.width("attention.shared_kv_layers"), used)};
}

/// Sets the kind, the cache and the state of each layer.
void shape_layers(const Keys& keys, Model& model) {
    const auto pattern = window_pattern(keys, model.architecture, model.layers.size());
    const auto& architecture = architecture_named(model.architecture);
    const auto state = recurrent_state(keys, architecture);
    const auto kinds = kinds_of(keys, model.layers.size());
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const auto queries = keys.of_layer("attention.head_count", i, 0);
        // Without grouped-query attention, the number of key heads is equal to the number of query
        // heads.
        const auto heads = keys.of_layer("attention.head_count_kv", i, queries);
        auto& layer = model.layers[i];
        layer.is_unused = i >= kinds.used;
        if (layer.is_unused)
            continue;
        const bool recurs = state.count > 0 && is_recurrent(keys, architecture, i, heads);
        layer.is_recurrent = recurs || architecture.has_state_everywhere;
        if (layer.is_recurrent)
            layer.state = state;
        layer.work.is_network = architecture.has_lone_networks && heads == 0 && !recurs;
        if (!recurs && !layer.work.is_network && i < kinds.with_cache)
            shape_attention(keys, i, pattern.is_windowed[i], heads, layer);
        model.widest_values =
            std::max(model.widest_values, product(layer.key_heads, layer.value_length));
    }
    model.window = pattern.window;
    if (pattern.is_guessed)
        model.notes.push_back(because("window-ignored", {{"architecture", model.architecture}}));
}

Error not_a_model(const std::string& what) {
    return {ErrorCode::InvalidRequest, what + ": not a language model that gpuprobe can plan for"};
}

Result<std::uint64_t> layers_of(const Keys& keys) {
    if (!keys.has("block_count"))
        return not_a_model(keys.name_of("block_count") + " is missing");
    const auto layers = keys.number("block_count");
    TRY(keys.check());
    if (*layers == 0 || *layers > kMaxLayers)
        return Error{ErrorCode::Malformed, keys.name_of("block_count") + " is " +
                                               std::to_string(*layers) + ", not 1 to " +
                                               std::to_string(kMaxLayers)};
    return *layers;
}

/// Checks that essential sizes exist. A missing size must not count as 0, because a model with 0
/// heads would appear to need no cache.
Status check_widths(const Keys& keys, const Model& model) {
    constexpr std::string_view kWidth = "embedding_length";
    constexpr std::string_view kHeads = "attention.head_count";
    if (!keys.has(kWidth))
        return not_a_model(keys.name_of(kWidth) + " is missing");
    // A purely recurrent model has no heads.
    if (recurrent_state(keys, architecture_named(model.architecture)).count > 0)
        return Done{};
    if (!keys.has(kHeads))
        return not_a_model(keys.name_of(kHeads) + " is missing");
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        if (keys.of_layer(kHeads, layer, 0) > 0)
            return Done{};
    TRY(keys.check());
    return Error{ErrorCode::Malformed, keys.name_of(kHeads) + " is 0 in every layer"};
}

}  // namespace

Result<Model> model_of(const Gguf& gguf) {
    const auto architecture = gguf.text("general.architecture");
    if (!architecture)
        return not_a_model("general.architecture is missing");
    const auto type = gguf.text("general.type").value_or("model");
    if (type != "model")
        return not_a_model("general.type is " + type);
    const Keys keys{gguf, *architecture};
    const auto layers = TRY(layers_of(keys));
    Model model{.name = gguf.text("general.name"),
                .architecture = *architecture,
                .layers = std::vector<LayerShape>(layers),
                .embedding_length = keys.width("embedding_length"),
                .trained_context = keys.number("context_length")};
    const auto& traits = architecture_named(*architecture);
    model.attends_batch = traits.is_encoder || !traits.has_cache;
    model.has_logits = !traits.is_encoder;
    model.encoded = keys.width("context_length", kUsualEncoding);
    model.has_layer_norm =
        keys.has("attention.layer_norm_epsilon") && !keys.has("attention.layer_norm_rms_epsilon");
    TRY(check_widths(keys, model));
    model.deep_layers = keys.width("n_deepstack_layers");
    shape_layers(keys, model);
    TRY(weigh(gguf, model));
    describe_work(gguf, keys, model);
    // A header without tensors may still contain the size of the vocabulary.
    if (const auto words = keys.number("vocab_size"); words && !model.vocabulary)
        model.vocabulary = std::min(*words, kMaxWidth);
    TRY(keys.check());
    return model;
}

namespace {

/// The size of the image with which llama.cpp warms up a projector: the number of tokens along one
/// side after patches were merged, and the number of patches along one side that were merged into a
/// token. Projectors that aren't in this table have one fixed image size.
struct WarmUp {
    std::string_view projector;
    std::uint64_t side;
    std::uint64_t merge;
};
constexpr auto kWarmUps = std::to_array<WarmUp>({
    {"dots_ocr", 46, 1},
    {"exaone4_5", 46, 2},
    {"gemma4v", 16, 3},
    {"glm4v", 46, 2},
    {"hunyuanvl", 32, 2},
    {"kimivl", 16, 2},
    {"lightonocr", 16, 1},
    {"mimovl", 46, 2},
    {"minimax_m3", 16, 2},
    {"paddleocr", 28, 2},
    {"phi4", 16, 1},
    {"pixtral", 16, 1},
    {"qwen2.5vl_merger", 46, 2},
    {"qwen2vl_merger", 46, 2},
    {"qwen3vl_merger", 46, 2},
    {"youtuvl", 16, 2},
});

/// The number of patches of the warm-up image; 0 if there is no encoder for images.
std::uint64_t patches_of(const Gguf& gguf, const Keys& keys) {
    const auto type = gguf.text("clip.projector_type")
                          .value_or(gguf.text("clip.vision.projector_type").value_or(""));
    const auto known = std::ranges::find(kWarmUps, type, &WarmUp::projector);
    std::uint64_t side = 0;
    if (known != kWarmUps.end()) {
        const auto merge = keys.width("spatial_merge_size", known->merge);
        side = product(known->side, keys.width("projector.scale_factor", merge));
    } else if (const auto patch = keys.width("patch_size"); patch > 0) {
        side = keys.width("image_size") / patch;
    }
    return product(side, side);
}

}  // namespace

Result<Projector> projector_of(const Gguf& gguf) {
    if (gguf.text("general.architecture") != "clip")
        return Error{ErrorCode::InvalidRequest, "the file is not a multimodal projector (clip)"};
    const Keys keys{gguf, "clip.vision"};
    const auto patches = patches_of(gguf, keys);
    const auto row = product(patches, keys.width("embedding_length"), kFloatBytes);
    const auto inner = product(patches, keys.width("feed_forward_length"), kFloatBytes);
    const auto mask = product(patches, patches, kFloatBytes);
    const auto scores = product(mask, keys.width("attention.head_count"));
    // Windowed attention needs a mask, and the features of some layers are stored for the projector
    // (Qwen3-VL).
    const bool is_windowed = keys.width("n_wa_pattern") > 0;
    const auto* deep = keys.list("is_deepstack_layers");
    const auto kept = deep ? std::ranges::count_if(*deep, [](auto flag) { return flag != 0; }) : 0;
    TRY(keys.check());
    // Memory use is highest either in the network (stream, its norm, the result and the inner
    // tensor), or in an attention that stores all scores at the same time (stream, queries, keys,
    // values twice and the result).
    const auto compute = [&](std::uint64_t rows, std::uint64_t largest, std::uint64_t masks) {
        return Bytes{sum(sum(product(rows + static_cast<std::uint64_t>(kept), row), largest),
                         is_windowed ? masks : 0)};
    };
    Projector projector{.compute = compute(3, inner, sum(mask, mask / 2))};
    projector.compute_without_flash = std::max(projector.compute, compute(6, scores, mask));
    for (const auto& tensor : gguf.tensors)
        projector.weights = sum(projector.weights, tensor.size);
    return projector;
}

namespace {

constexpr std::string_view kSchema = "gpuprobe.model/1";
constexpr std::array<std::string_view, 3> kGeneral = {"general.architecture", "general.name",
                                                      "general.type"};

Error malformed(std::string_view where, std::string_view reason) {
    return {ErrorCode::Malformed,
            "model: " + scrubbed(where, kMaxGgufNameBytes) + ": " + std::string{reason}};
}

/// An integer or boolean; nullopt for other types, because only the keys of such values are kept,
/// as in a file.
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

/// The value as the reader of files would store it, with the same limits.
std::optional<GgufValue> kept(const Value& value) {
    if (const auto* text = value.as_string())
        return text->size() > kMaxGgufTextBytes ? std::nullopt : std::optional<GgufValue>{*text};
    if (const auto* items = value.as_array())
        return list_of(*items);
    if (const auto number = integer_of(value))
        return GgufValue{*number};
    return std::nullopt;
}

// The limits are the same as for the header of a file.
Status read_metadata(const Value& metadata, Gguf& gguf) {
    const auto* members = metadata.as_object();
    if (!members)
        return malformed("metadata", wrong_type(metadata, "object"));
    if (members->size() > kMaxGgufKeys)
        return malformed("metadata", "more than 4096 keys");
    for (const auto& member : *members) {
        // GGUF has no values that are objects.
        if (member.key.empty() || member.value.is_object())
            return malformed("metadata", "a value is not a number, text or list");
        gguf.keys.insert(member.key);
        if (auto value = kept(member.value))
            gguf.values.emplace(member.key, std::move(*value));
    }
    return Done{};
}

/// One item of the list `tensors`, with the fields that a file contains.
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
        return malformed("tensors", "more than 65536 tensors");
    std::set<std::string> seen;
    for (const auto& item : *items) {
        auto record = strict_record_from<TensorRecord>(item);
        if (!record)
            return malformed("tensors[" + std::to_string(gguf.tensors.size()) + "]",
                             record.error().text);
        // Messages contain names, so accept only names that scrubbing leaves unchanged.
        auto name = scrubbed(record->name, kMaxGgufNameBytes);
        if (name != record->name || !seen.insert(name).second)
            return malformed(name, "a tensor name is not text, is too long, or is not unique");
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
    // From now on, the values from the document are treated like the header of a file.
    auto model = model_of(gguf);
    if (!model)
        return std::move(model).error().in("model");
    return model;
}

// Copy only keys of the model's architecture and a few general keys, because other metadata may be
// long or private.
Value model_document_of(const Gguf& gguf) {
    const auto own = gguf.text("general.architecture").value_or("") + ".";
    Value metadata{Value::Object{}};
    for (const auto& key : gguf.keys) {
        if (!key.starts_with(own) && std::ranges::find(kGeneral, key) == kGeneral.end())
            continue;
        const auto found = gguf.values.find(key);
        // If the value of a key was skipped, the key is written with the value null, because the
        // existence of the key matters.
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
