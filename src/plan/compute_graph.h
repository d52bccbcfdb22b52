// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "plan/layers.h"
#include "plan/need.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {

/// The tensors of a computation, in the order in which they are computed, and the memory that
/// ggml's graph allocator needs for these tensors.
///
/// The allocator's rules: Inputs come first. A result is placed in the smallest free block that is
/// large enough or, if there is none, at the end. A result takes the place of a source if the
/// operation can work in place, if no other operation reads the source, and if the sizes are equal.
/// A tensor is freed when all operations that read it have run. Source: ggml/src/ggml-alloc.c of
/// llama.cpp at 0450e2f9 (ggml_gallocr_alloc_graph_impl, ggml_dyn_tallocr_alloc,
/// ggml_op_can_inplace).
class GraphMemory {
public:
    using Tensor = std::size_t;

    /// Adds a tensor that exists before the first operation.
    Tensor input(std::uint64_t bytes);
    /// Adds a result that may replace the first source that has the same size.
    Tensor in_place(std::uint64_t bytes, const std::vector<Tensor>& sources);
    /// Adds a result that needs its own memory.
    Tensor result(std::uint64_t bytes, const std::vector<Tensor>& sources);
    /// Adds an operation that reads tensors but has no result, such as a write to the cache.
    void read(const std::vector<Tensor>& sources);

    /// The largest amount of memory that is in use at any time. All sizes are rounded up to a
    /// multiple of `alignment`.
    [[nodiscard]] Bytes peak(std::uint64_t alignment) const;
    /// The size of the largest tensor.
    [[nodiscard]] Bytes largest() const;

private:
    struct Step {
        std::uint64_t bytes = 0;
        bool may_reuse = false;
        bool has_result = true;
        std::size_t first_source = 0;  ///< index into sources_
        std::size_t sources = 0;
    };
    Tensor step(Step step, const std::vector<Tensor>& sources);

    std::vector<Step> steps_ = {};
    std::vector<Tensor> sources_ = {};
    std::vector<std::uint32_t> readers_ = {};  ///< number of readers, by tensor
    std::vector<Tensor> inputs_ = {};
};

/// The layers that one device computes, from `first` to the layer before `last`. The device may
/// compute the output in addition to its layers.
struct Part {
    std::size_t first = 0;
    std::size_t last = 0;
    bool has_output = false;
    bool is_host = false;  ///< whether the CPU computes the part and looks up the embedding
    /// number of copies of each input, if several devices form a pipeline
    std::uint64_t copies = 1;
    bool operator==(const Part&) const = default;
};
/// The part of a model that consists of all layers and the output.
Part whole(const Model& model);

/// Size of the compute buffer of a device for its part of the model, which is the memory for the
/// graph of a full batch with logits for each token. llama.cpp reserves this buffer when a context
/// is created.
///
/// Source of the graphs: src/llama-graph.cpp and src/models of llama.cpp v0.5.0, compared with the
/// graphs that the runtime prints (GGML_SCHED_DEBUG=2). If the name of an architecture is not
/// known, the tensors of the layers determine the computation.
Bytes compute_of(const Model& model, const RunShape& run, const Part& part);

/// The largest tensor on a device that computes a part: a weight, the keys or values of a layer, or
/// a result of the graph. llama.cpp divides weights, cache and compute buffer into several buffers
/// if the backend limits the size of a buffer, but a tensor is always in one buffer. Sources:
/// ggml/src/ggml-alloc.c of llama.cpp at 0450e2f9 (ggml_backend_alloc_ctx_tensors_from_buft,
/// ggml_dyn_tallocr_new_chunk); src/llama-kv-cache.cpp.
Bytes largest_of(const Model& model, const RunShape& run, const Part& part);

// Only the files of the compute graph use the following declarations: compute_graph.cpp and
// layer_graph.cpp.

using Tensor = GraphMemory::Tensor;
using Sources = std::vector<Tensor>;

constexpr std::uint64_t kHalfBytes = 2;
constexpr std::uint64_t kIndexBytes = 8;  ///< size of the index of a row in the cache

/// The inputs of an attention operation that has no cache.
struct DirectAttention {
    Tensor query = 0;
    Tensor key = 0;
    Tensor value = 0;
    Tensor mask = 0;
    std::uint64_t tokens = 0;  ///< number of keys and values
    bool has_bias = false;     ///< whether a position bias is added to the scores
};

/// The matrices that rotate the keys and values of a quantized cache.
struct Matrices {
    std::optional<Tensor> keys = {};
    std::optional<Tensor> values = {};
};

/// The compute graph of one part of a model. Operations that work in place on a tensor that no
/// other operation reads (biases, scales, rotations, per-head norms, activations) need no memory
/// and are left out.
class ComputeGraph {
public:
    ComputeGraph(const Model& model, const RunShape& run)
        : model_{model},
          run_{run},
          architecture_{architecture_named(model.architecture)},
          tokens_{tokens_of(run)} {}

    /// Builds the graph and returns the size of the memory that it needs.
    Bytes bytes(const Part& part);
    /// The size of the largest tensor in the graph.
    [[nodiscard]] Bytes largest() const { return memory_.largest(); }

private:
    /// Size of a tensor that has a row of `numbers` floats for each token.
    [[nodiscard]] std::uint64_t floats(std::uint64_t numbers) const {
        return product(numbers, tokens_, kFloatBytes);
    }
    [[nodiscard]] std::uint64_t mask_number() const {
        return run_.flash_attention ? kHalfBytes : kFloatBytes;
    }
    [[nodiscard]] std::uint64_t width() const { return model_.embedding_length; }
    /// Number of tokens that a layer attends to, not counting compressed tokens.
    [[nodiscard]] std::uint64_t cells(const LayerShape& layer) const {
        return model_.attends_batch ? tokens_ : cells_of(layer.is_windowed, model_, run_);
    }
    /// Number of layers, not counting the layers for next-token prediction, which come last.
    [[nodiscard]] std::size_t used_layers() const {
        const auto unused = std::ranges::find(model_.layers, true, &LayerShape::is_unused);
        return static_cast<std::size_t>(unused - model_.layers.begin());
    }

    /// Whether the output of attention is projected late, after the other part of the layer, a
    /// feed-forward network or a recurrence, has read the same input.
    [[nodiscard]] bool projects_late(const LayerShape& layer) const {
        return has_both(layer) || (layer.work.is_parallel &&
                                   architecture_.parallel_sum != ParallelSum::AttentionFirst);
    }
    /// Whether the layer computes attention in parallel with Mamba-2.
    [[nodiscard]] static bool has_both(const LayerShape& layer) {
        return layer.work.recurrence == Recurrence::Mamba2 && layer.key_heads > 0;
    }
    [[nodiscard]] bool adds_to_stream() const {
        return architecture_.stream_first == StreamFirst::InAttention ||
               architecture_.stream_first == StreamFirst::InBoth;
    }

    /// RMS norms work in place, but layer norms do not.
    Tensor norm(Tensor tensor) {
        return model_.has_layer_norm ? memory_.result(floats(width()), {tensor})
                                     : memory_.in_place(floats(width()), {tensor});
    }

    // Creates the inputs in the order in which llama.cpp creates them.
    void prepare(const Part& part);
    void prepare_keys(const LayerShape& one);
    void prepare_cache(const LayerShape& one);
    void embed(std::optional<Tensor> tokens);
    [[nodiscard]] bool takes_rows(const Part& part) const;
    void prepare_extra(const Part& part, std::optional<Tensor> tokens);
    Tensor with_extra(Tensor sum);
    Tensor normed_input(const LayerShape& layer);
    Tensor mixed_sum(const LayerShape& layer);
    Tensor joined(const LayerShape& layer);
    Tensor last_rows(Tensor tensor) {
        if (architecture_.keeps_last)
            kept_.push_back(tensor);
        return rows(true, tensor);
    }
    /// Extracts rows from the stream once, in the last layer.
    Tensor stream_rows() {
        stream_ = rows(std::exchange(takes_stream_, false), stream_);
        return stream_;
    }
    [[nodiscard]] Tensor rows(bool are_taken, Tensor tensor) {
        return are_taken ? memory_.result(floats(width()), {tensor, wanted_}) : tensor;
    }
    Tensor input(std::uint64_t bytes);
    Tensor layer(std::size_t index, bool is_last);
    /// Adds the result of an attention or a network to the residual stream.
    Tensor added(Tensor stream, Tensor result, StreamFirst where);
    // Kinds of layers. Each function takes the normalized input and returns the result that is
    // added to the stream.
    Tensor mixed(const LayerShape& layer, Tensor normed);
    Tensor attention(const LayerShape& layer, Tensor normed);
    Tensor projected(const LayerShape& layer, Tensor result, std::optional<Tensor> gate);
    Tensor latent(const LayerShape& layer, Tensor normed);
    Tensor expanded(const LayerShape& layer, Tensor normed);
    /// `read` contains the tensors that an indexer reads.
    Tensor attended(const LayerShape& layer,
                    Tensor queries,
                    std::uint64_t values,
                    const Sources& read);
    Tensor biased(std::uint64_t size, Tensor scores);
    Tensor attended_directly(const LayerShape& layer, const DirectAttention& all);
    Tensor crossed(const LayerShape& layer, Tensor normed);
    Tensor chosen(const LayerShape& layer, const Sources& read, std::uint64_t cells, Tensor mask);
    Tensor chosen_by_head(const LayerShape& layer, std::uint64_t cells, Tensor mask);
    [[nodiscard]] std::uint64_t widened(const LayerShape& layer, std::uint64_t cells) const;
    void store(const LayerShape& layer, Tensor key);
    void store_value(const LayerShape& layer, Tensor value, bool is_view);
    Tensor turned(const LayerWork& work, std::uint64_t numbers, Tensor tensor);
    [[nodiscard]] Tensor rotated(std::optional<Tensor> matrix,
                                 std::uint64_t numbers,
                                 Tensor tensor);
    void settle(const LayerShape& layer);
    void read_next_state();
    void read_state(const LayerShape& layer);
    /// Returns the tensor and, for a recurrent layer, the state that was read.
    [[nodiscard]] Sources with_state(Tensor tensor) {
        Sources sources{tensor};
        if (const auto state = std::exchange(state_, std::nullopt))
            sources.push_back(*state);
        return sources;
    }
    Tensor mamba(const LayerShape& layer, Tensor normed);
    Tensor mamba2(const LayerShape& layer, Tensor normed);
    Tensor both(const LayerShape& layer, Tensor normed);
    [[nodiscard]] Tensor scanned(const LayerShape& layer, Sources sources);
    [[nodiscard]] static std::uint64_t tail_of(const LayerShape& layer);
    Tensor short_convolution(const LayerShape& layer, Tensor normed);
    Tensor lightning(const LayerShape& layer, Tensor normed);
    Tensor delta_net(const LayerShape& layer, Tensor normed);
    Tensor rwkv(const LayerShape& layer, Tensor normed);
    Tensor feed_forward(const LayerShape& layer, Tensor normed);
    Tensor dense(std::uint64_t inner, const LayerWork& work, Tensor normed);
    Tensor experts(const LayerWork& work, Tensor normed);

    const Model& model_;
    const RunShape& run_;
    const Architecture& architecture_;
    std::uint64_t tokens_ = 0;
    GraphMemory memory_ = {};
    Tensor positions_ = 0;
    Tensor wanted_ = 0;  ///< the positions of the tokens whose logits are requested
    /// masks of layers with full attention, and of windowed layers
    std::array<Tensor, 2> masks_ = {};
    /// The rows of the cache to which keys and values are written, in the same order as the masks.
    std::array<std::array<Tensor, 2>, 2> rows_ = {};
    std::array<Matrices, 2> matrices_ = {};  ///< rotation matrices, in the same order as the masks
    Tensor decays_ = 0;   ///< weights by distance, for lightning attention; 0 until created
    Tensor buckets_ = 0;  ///< distances in buckets, for a position bias
    Tensor encoded_ = 0;  ///< output of the encoder
    Tensor encoded_mask_ = 0;
    std::uint64_t copies_ = 1;  ///< number of copies of each input
    /// normalized input of the first layer, if another device computes it
    std::optional<Tensor> normed_ = {};
    Tensor input_ = 0;                        ///< input of the first layer and of the deep layers
    std::size_t index_ = 0;                   ///< index of the layer that is being computed
    std::size_t last_ = 0;                    ///< index after the last layer of this part
    Tensor streams_ = 0;                      ///< the streams whose states are read
    std::optional<Tensor> state_ = {};        ///< see with_state()
    std::optional<Tensor> unprojected_ = {};  ///< result of attention that is projected later
    Tensor stream_ = 0;                       ///< the residual stream; the next layer adds to it
    bool takes_stream_ = false;  ///< whether rows still have to be extracted from the stream
    /// additional embeddings of all layers (Gemma 3n), before and after the projection of the
    /// embedding is added
    std::optional<Tensor> looked_up_ = {};
    std::optional<Tensor> extra_ = {};
    /// Mask in f32, for indexers with a selection per head.
    std::optional<Tensor> float_mask_ = {};
    std::optional<Tensor> first_value_ = {};  ///< value of the first RWKV layer
    std::vector<Tensor> kept_ = {};           ///< tensors that are never freed
};

}  // namespace gpuprobe::inline plan
