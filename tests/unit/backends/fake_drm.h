// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "backends/drm/drm_abi.h"
#include "backends/drm/drm_device.h"

namespace gpuprobe::backends {

/// A driver in a kernel of our own: one function for each request, EINVAL for the others.
class FakeDrm final : public DrmDevice {
public:
    using Handler = std::function<int(void*)>;

    explicit FakeDrm(std::string driver = "fake") {
        on<drm::Version>(drm::kVersion, [name = std::move(driver)](drm::Version& version) {
            version.major = 3;
            version.minor = 49;
            version.name_length = put(name, version.name, version.name_length);
            version.description_length =
                put("Fake driver", version.description, version.description_length);
            return 0;
        });
    }

    template <class T>
    void on(unsigned long request, std::function<int(T&)> handler) {
        handlers_[request] = [handler = std::move(handler)](void* argument) {
            return handler(*static_cast<T*>(argument));
        };
    }
    void refuse(unsigned long request, int number) {
        handlers_[request] = [number](void*) { return number; };
    }

    [[nodiscard]] int ask(unsigned long request, void* argument) const override {
        const auto found = handlers_.find(request);
        return found == handlers_.end() ? EINVAL : found->second(argument);
    }

private:
    /// As drm_ioctl.c, drm_copy_field: as much as fits, and the whole length.
    static std::size_t put(const std::string& text, char* buffer, std::size_t size) {
        std::memcpy(buffer, text.data(), std::min(size, text.size()));
        return text.size();
    }

    std::map<unsigned long, Handler> handlers_ = {};
};

/// The object at an address that was handed to the kernel.
template <class T>
T& at_address(std::uint64_t address) {
    return *reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

}  // namespace gpuprobe::backends
