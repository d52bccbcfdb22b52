// SPDX-License-Identifier: Apache-2.0
#include "plan/recurrent_state.h"

#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

constexpr std::uint64_t kBytesOfState = 4;  ///< kept in f32

std::uint64_t without_one(std::uint64_t number) {
    return number > 0 ? number - 1 : 0;
}

std::uint64_t state_numbers(const Keys& keys, const Architecture& architecture) {
    const auto width = keys.width("embedding_length");
    if (const auto head = keys.width("wkv.head_size"))  // RWKV
        return product(width, sum(keys.width("token_shift_count", 2), head));
    if (const auto cache = keys.width("shortconv.l_cache"))  // LFM2
        return product(width, cache - 1);
    const auto heads = keys.of_layer("attention.head_count", 0, 0);
    const auto kernel = without_one(keys.width("ssm.conv_kernel"));
    if (const auto length = keys.width("kda.head_dim"))  // Kimi: three convolutions, then the state
        return product(heads, length, sum(product(3, kernel), length));
    if (architecture.has_lightning_attention) {
        const auto length = keys.width("attention.key_length", heads > 0 ? width / heads : 0);
        return product(heads, length, length);
    }
    const auto inner = keys.width("ssm.inner_size");
    const auto state = keys.width("ssm.state_size");
    const auto groups = product(2, keys.width("ssm.group_count"), state);
    return sum(product(kernel, sum(inner, groups)), product(state, inner));
}

}  // namespace

Bytes recurrent_state(const Keys& keys, const Architecture& architecture) {
    return Bytes{product(kBytesOfState, state_numbers(keys, architecture))};
}

bool is_recurrent(const Keys& keys,
                  const Architecture& architecture,
                  std::size_t layer,
                  std::uint64_t heads) {
    if (keys.width("wkv.head_size") > 0)
        return true;
    if (keys.has("attention.recurrent_layers"))
        return keys.of_layer("attention.recurrent_layers", layer, 0) != 0;
    if (architecture.has_lone_networks)
        return heads == 0 && keys.of_layer("feed_forward_length", layer, 0) == 0;
    const auto interval = keys.width("full_attention_interval", architecture.attention_interval);
    return heads == 0 || (interval > 0 && (layer + 1) % interval != 0);
}

}  // namespace gpuprobe::inline plan
