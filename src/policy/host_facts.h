// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/machine_facts.h"

namespace gpuprobe {

/// The host's part of machine_facts().
HostFacts host_facts(const Host& host);

}  // namespace gpuprobe
