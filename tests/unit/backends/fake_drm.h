// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "backends/drm/facts.h"

namespace gpuprobe::backends {

/// A fake kernel driver: it has one function for each known request, and returns EINVAL for all
/// others.
class FakeDrm final : public DrmDevice {
public:
    using Handler = std::function<int(void*)>;

    explicit FakeDrm(std::string driver = "fake") {
        on<drm_version>(DRM_IOCTL_VERSION, [name = std::move(driver)](drm_version& version) {
            version.version_major = 3;
            version.version_minor = 49;
            version.name_len = put(name, version.name, version.name_len);
            version.desc_len = put("Fake driver", version.desc, version.desc_len);
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
    /// Like drm_copy_field() in drm_ioctl.c: copies as much as fits, and returns the whole length.
    static std::size_t put(const std::string& text, char* buffer, std::size_t size) {
        std::memcpy(buffer, text.data(), std::min(size, text.size()));
        return text.size();
    }

    std::map<unsigned long, Handler> handlers_ = {};
};

inline drm_i915_memory_region_info i915_region(std::uint16_t where,
                                               std::uint64_t size,
                                               std::uint64_t free) {
    drm_i915_memory_region_info region = {};
    region.region.memory_class = where;
    region.probed_size = size;
    region.unallocated_size = free;
    return region;
}

/// The object at an address that was passed to the kernel.
template <class T>
T& at_address(std::uint64_t address) {
    return *reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

}  // namespace gpuprobe::backends
