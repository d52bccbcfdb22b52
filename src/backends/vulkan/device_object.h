// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "backends/vulkan/vulkan_api.h"

namespace gpuprobe::backends {

/// An object of a logical device, which must outlive it, and the function that destroys it.
template <class Handle>
class DeviceObject {
public:
    using Destroy = void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*);

    DeviceObject() = default;
    DeviceObject(VkDevice device, Handle handle, Destroy destroy)
        : device_{device}, handle_{handle}, destroy_{destroy} {}
    DeviceObject(DeviceObject&& other) noexcept
        : device_{other.device_},
          handle_{std::exchange(other.handle_, Handle{})},
          destroy_{other.destroy_} {}
    DeviceObject& operator=(DeviceObject&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        std::swap(destroy_, other.destroy_);
        return *this;
    }
    DeviceObject(const DeviceObject&) = delete;
    DeviceObject& operator=(const DeviceObject&) = delete;
    ~DeviceObject() {
        if (handle_)
            destroy_(device_, handle_, nullptr);
    }

    [[nodiscard]] Handle get() const { return handle_; }
    [[nodiscard]] const Handle* address() const { return &handle_; }
    explicit operator bool() const { return handle_ != Handle{}; }

private:
    VkDevice device_ = VK_NULL_HANDLE;
    Handle handle_ = {};
    Destroy destroy_ = nullptr;
};

}  // namespace gpuprobe::backends
