// SPDX-License-Identifier: Apache-2.0
#include "plan/compute_graph.h"

// Recurrent layers. Each function follows the operations of one graph in src/models of llama.cpp,
// which also explain the mathematics. Names of variables: `tail` is the input from before the batch
// that a convolution reads, `joined` the batch together with it.
namespace gpuprobe::inline plan {

// Mamba: projection, convolution, selection of the step, scan, and a gate.
Tensor ComputeGraph::mamba(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto both = memory_.result(product(2, inner), {normed});
    const auto tail = product(work.kernel, work.inner_size, kFloatBytes, run_.streams);
    const auto joined = memory_.result(sum(inner, tail), {both});
    const auto convolved = memory_.result(inner, {joined});
    const auto selected =
        memory_.result(floats(sum(work.time_step_rank, product(2, work.state_size))), {convolved});
    const auto steps =
        memory_.result(inner, {memory_.result(floats(work.time_step_rank), {selected})});
    const auto scanned = memory_.result(sum(inner, product(layer.state.count, run_.streams)),
                                        {convolved, steps, selected});
    const auto gate = memory_.result(inner, {both});
    const auto skipped = memory_.in_place(inner, {convolved});
    const auto summed = memory_.in_place(inner, {skipped, scanned});
    return memory_.result(floats(width()), {memory_.result(inner, {gate, summed})});
}

// Mamba-2: one projection gives everything, including gate and steps.
Tensor ComputeGraph::mamba2(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto wide = sum(work.inner_size, product(2, work.groups, work.state_size));
    const auto all =
        memory_.result(floats(sum(work.inner_size, sum(wide, work.time_step_rank))), {normed});
    const auto tail = product(work.kernel, wide, kFloatBytes, run_.streams);
    const auto joined = memory_.result(sum(floats(wide), tail), {all});
    const auto convolved = memory_.result(floats(wide), {joined});
    const auto steps = memory_.result(floats(work.time_step_rank), {all});
    const auto scanned =
        memory_.result(sum(inner, product(layer.state.count, run_.streams)), {convolved, steps});
    const auto gate = memory_.result(inner, {all});
    const auto skipped = memory_.result(inner, {convolved});
    const auto summed = memory_.in_place(inner, {skipped, scanned});
    return memory_.result(floats(width()), {memory_.result(inner, {gate, summed})});
}

// LFM2: a gated convolution over a few tokens.
Tensor ComputeGraph::short_convolution(const LayerShape& layer, Tensor normed) {
    const auto row = floats(width());
    const auto three = memory_.result(product(3, row), {normed});
    const auto scaled = memory_.result(row, {three});
    const auto tail = product(layer.work.kernel, width(), kFloatBytes, run_.streams);
    const auto joined = memory_.result(sum(row, tail), {scaled});
    const auto convolved = memory_.result(row, {joined});
    return memory_.result(row, {memory_.in_place(row, {convolved, three})});
}

// MiniMax-01: linear attention. `before` is the contribution of the state, `within` the attention
// inside the batch, weighted by distance.
Tensor ComputeGraph::lightning(const LayerShape& layer, Tensor normed) {
    const auto inner = floats(layer.work.inner_size);
    const auto scores = floats(product(layer.work.heads, tokens_));
    const auto all = memory_.result(product(3, inner), {normed});
    const auto before = memory_.result(inner, {memory_.result(inner, {all})});
    const auto value = memory_.result(inner, {all});
    const auto alike = memory_.result(scores, {all});
    const auto weighed = memory_.in_place(scores, {alike, memory_.result(scores, {decays_})});
    const auto within = memory_.result(inner, {value, weighed});
    const auto summed = memory_.in_place(inner, {before, within});
    const auto faded = memory_.result(inner, {memory_.result(inner, {all})});
    // The new state is written to the cache.
    memory_.read({memory_.result(layer.state.count, {faded, value})});
    const auto gate = memory_.result(inner, {normed});
    const auto turned = memory_.result(inner, {summed});
    return memory_.result(floats(width()), {memory_.in_place(inner, {turned, gate})});
}

// Gated delta net: convolution, queries and keys for each head, then one fused operation that
// returns the output and the new state.
Tensor ComputeGraph::delta_net(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto keys = floats(product(work.groups, work.state_size));
    const auto wide = sum(inner, product(2, keys));
    const auto all = memory_.result(wide, {normed});
    const auto joined = memory_.result(sum(wide, product(work.kernel, wide / tokens_)), {all});
    const auto state = memory_.result(product(layer.state.count, run_.streams), {});
    const auto convolved = memory_.result(wide, {joined});
    const auto query = memory_.result(inner, {memory_.result(keys, {convolved})});
    const auto key = memory_.result(inner, {memory_.result(keys, {convolved})});
    const auto summed = memory_.result(sum(inner, product(layer.state.count, run_.streams)),
                                       {query, key, convolved, state});
    const auto scaled = memory_.result(inner, {summed});
    const auto gate = memory_.result(inner, {normed});
    return memory_.result(floats(width()), {memory_.in_place(inner, {scaled, gate})});
}

// RWKV: mixes each token with the one before it in six ways, from which everything else is
// computed.
Tensor ComputeGraph::rwkv(const LayerShape& layer, Tensor normed) {
    constexpr std::uint64_t kMixes = 6;
    const auto row = floats(width());
    const auto shifted = memory_.result(row, {normed});
    const auto delta = memory_.in_place(row, {shifted, normed});
    const auto many = product(kMixes, row);
    const auto mixes = memory_.in_place(many, {memory_.result(many, {delta}), normed});
    const auto receptance = memory_.result(row, {mixes});
    const auto decay = memory_.result(row, {mixes});
    const auto key = memory_.result(row, {mixes});
    const auto rate = memory_.result(row, {mixes});
    const auto value = memory_.result(row, {mixes});
    if (!first_value_)
        first_value_ = value;  // later layers mix their values with it
    memory_.read({*first_value_});
    const auto scaled = memory_.result(row, {key});
    const auto unit = memory_.result(row, {scaled});
    const auto turned = memory_.result(row, {unit, rate});
    const auto summed = memory_.result(sum(row, product(layer.state.count, run_.streams)),
                                       {receptance, decay, key, value, unit, turned});
    const auto gate = memory_.result(row, {mixes});
    return memory_.result(row, {memory_.in_place(row, {memory_.result(row, {summed}), gate})});
}

}  // namespace gpuprobe::inline plan
