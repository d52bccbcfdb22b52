// SPDX-License-Identifier: Apache-2.0
#include "inventory/render_nodes.h"

namespace gpuprobe::inline inventory {

/// Always empty: the portable build has no libudev. It has no service either, the only caller.
std::vector<RenderNode> render_nodes() {
    return {};
}

}  // namespace gpuprobe::inline inventory
