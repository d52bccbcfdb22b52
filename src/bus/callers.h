// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "bus/sdbus.h"

namespace gpuprobe::bus {

/// Who is behind a name on the bus. It asks the bus without waiting for it: a wait would stop
/// everyone else's calls.
class Callers {
public:
    explicit Callers(sdbus::IConnection& connection);
    ~Callers();

    /// Errors, in the callback: NotAuthorized when the bus does not say (the caller left). After
    /// this object is gone, the callback is destroyed unused.
    void uid_of(const std::string& sender, std::function<void(Result<uid_t>)> answer);

private:
    std::unique_ptr<sdbus::IProxy> bus_;
};

}  // namespace gpuprobe::bus
