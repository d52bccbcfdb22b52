// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/api.h"
#include "base/text.h"
#include "base/word_list.h"

namespace gpuprobe::backends {
namespace {

/// A VkVideoCodecOperationFlagBitsKHR, with the types of the structures for its profiles and its
/// capabilities. Debian 12's headers lack most of these structures. Source: Vulkan registry,
/// version 1.4.359.
struct Operation {
    std::uint32_t bit = 0;
    VideoDirection direction = {};
    std::string_view codec = {};  ///< as in kVideoProfiles
    std::string_view name = {};
    int profile_type = 0;
    int capabilities_type = 0;
};
constexpr auto kOperations = std::to_array<Operation>({
    {0x1, VideoDirection::Decode, "h264", "DECODE_H264", 1000040003, 1000040000},
    {0x2, VideoDirection::Decode, "hevc", "DECODE_H265", 1000187003, 1000187000},
    {0x4, VideoDirection::Decode, "av1", "DECODE_AV1", 1000512003, 1000512000},
    {0x8, VideoDirection::Decode, "vp9", "DECODE_VP9", 1000514003, 1000514001},
    {0x10000, VideoDirection::Encode, "h264", "ENCODE_H264", 1000038007, 1000038000},
    {0x20000, VideoDirection::Encode, "hevc", "ENCODE_H265", 1000039007, 1000039000},
    {0x40000, VideoDirection::Encode, "av1", "ENCODE_AV1", 1000513005, 1000513000},
});
/// VkVideoDecodeCapabilitiesKHR and VkVideoEncodeCapabilitiesKHR.
constexpr int kDecodeCapabilities = 1000024001;
constexpr int kEncodeCapabilities = 1000299003;

/// A profile: its number in the standard, its name in kVideoProfiles, and the samples about which
/// drivers are queried. Words in a list are separated by spaces. NVIDIA's driver 580 ignores the
/// number, so the samples must rule out profiles that it does not support; the screen content
/// profiles of HEVC have the samples of other profiles and are left out. Source of the numbers:
/// vk_video/*std.h; with Vulkan, the baseline profile of H.264 means the constrained baseline
/// profile.
struct Samples {
    std::string_view codec = {};
    std::uint32_t number = 0;
    std::string_view profile = {};
    std::string_view chromas = "4:2:0";
    std::string_view bits = "8";
};
constexpr auto kSamples = std::to_array<Samples>({
    {"h264", 66, "constrained-baseline"},
    {"h264", 77, "main"},
    {"h264", 100, "high", "4:0:0 4:2:0"},
    {"h264", 110, "high10", "4:2:0", "10"},
    {"h264", 122, "high422", "4:2:2", "8 10"},
    {"h264", 244, "high444", "4:4:4", "8 10"},
    {"hevc", 1, "main"},
    {"hevc", 2, "main10", "4:2:0", "10"},
    {"hevc", 4, "main12", "4:2:0", "12"},
    {"hevc", 4, "main422-10", "4:2:2", "8 10"},
    {"hevc", 4, "main422-12", "4:2:2", "12"},
    {"hevc", 4, "main444", "4:4:4"},
    {"hevc", 4, "main444-10", "4:4:4", "10"},
    {"hevc", 4, "main444-12", "4:4:4", "12"},
    {"av1", 0, "main", "4:0:0 4:2:0", "8 10"},
    {"av1", 1, "high", "4:4:4", "8 10"},
    {"vp9", 0, "profile0"},
    {"vp9", 1, "profile1", "4:2:2 4:4:4"},
    {"vp9", 2, "profile2", "4:2:0", "10 12"},
    {"vp9", 3, "profile3", "4:2:2 4:4:4", "10 12"},
});

/// The chroma formats, indexed by bit of VkVideoChromaSubsamplingFlagBitsKHR.
constexpr auto kChromas = std::to_array<std::string_view>({"4:0:0", "4:2:0", "4:2:2", "4:4:4"});
constexpr auto kBits = std::to_array<std::uint32_t>({8, 10, 12});

/// The common layout of all Vk…ProfileInfoKHR structures of codecs.
struct CodecProfile {
    VkStructureType sType;
    const void* pNext;
    std::uint32_t profile;
    /// The picture layout of H.264 (0: progressive), or whether AV1 is decoded with film grain.
    /// Structures of other codecs have padding here.
    std::uint32_t option;
};

/// The start of all structures of capabilities, with room for the largest one
/// (VkVideoEncodeAV1CapabilitiesKHR, 128 bytes).
struct AnyCapabilities {
    VkStructureType sType;
    void* pNext;
    std::array<std::uint64_t, 62> members;
};

/// The operations of all queue families of the device.
std::uint32_t operations_of(const InstanceSymbols& vulkan, VkPhysicalDevice device) {
    std::vector<VkQueueFamilyVideoPropertiesKHR> videos(kMaxQueueFamilies);
    std::vector<VkQueueFamilyProperties2> families(kMaxQueueFamilies);
    for (std::size_t i = 0; i < families.size(); ++i) {
        videos[i].sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_VIDEO_PROPERTIES_KHR;
        families[i].sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2;
        families[i].pNext = &videos[i];
    }
    auto count = kMaxQueueFamilies;
    vulkan.queues2(device, &count, families.data());
    std::uint32_t operations = 0;
    for (const auto& video : videos)
        operations |= video.videoCodecOperations;
    return operations;
}

/// The largest size of pictures with these samples; nullopt if the driver does not support them.
std::optional<VkExtent2D> largest_picture(const InstanceSymbols& vulkan,
                                          VkPhysicalDevice device,
                                          const Operation& operation,
                                          const Samples& samples,
                                          std::size_t chroma,
                                          std::uint32_t bits) {
    const auto type = [](int number) { return static_cast<VkStructureType>(number); };
    CodecProfile codec{type(operation.profile_type), nullptr, samples.number, 0};
    VkVideoProfileInfoKHR profile{};
    profile.sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_INFO_KHR;
    profile.pNext = &codec;
    profile.videoCodecOperation = static_cast<VkVideoCodecOperationFlagBitsKHR>(operation.bit);
    profile.chromaSubsampling = 1U << chroma;
    profile.lumaBitDepth = 1U << (bits - kBits.front());
    profile.chromaBitDepth = profile.lumaBitDepth;
    // Drivers may write to both structures of capabilities without checking which ones are chained.
    AnyCapabilities of_codec{type(operation.capabilities_type), nullptr, {}};
    AnyCapabilities of_direction{
        type(operation.direction == VideoDirection::Decode ? kDecodeCapabilities
                                                           : kEncodeCapabilities),
        &of_codec,
        {}};
    VkVideoCapabilitiesKHR capabilities{};
    capabilities.sType = VK_STRUCTURE_TYPE_VIDEO_CAPABILITIES_KHR;
    capabilities.pNext = &of_direction;
    if (vulkan.video_capabilities(device, &profile, &capabilities) != VK_SUCCESS)
        return std::nullopt;
    return capabilities.maxCodedExtent;
}

}  // namespace

void ask_video(const InstanceSymbols& vulkan, VkPhysicalDevice device, DeviceReply& reply) {
    if (!reply.lists("VK_KHR_video_queue") || !vulkan.queues2 || !vulkan.video_capabilities)
        return;
    reply.video.emplace();
    const auto operations = operations_of(vulkan, device);
    for (const auto& operation : kOperations) {
        const auto extension = "VK_KHR_video_" + lower_case(operation.name);
        if ((operations & operation.bit) == 0 || !reply.lists(extension.c_str()))
            continue;
        for (const auto& samples : kSamples)
            for (std::size_t chroma = 0; chroma < kChromas.size(); ++chroma)
                for (const auto bits : kBits) {
                    if (samples.codec != operation.codec ||
                        !has_word(samples.chromas, kChromas[chroma]) ||
                        !has_word(samples.bits, std::to_string(bits)))
                        continue;
                    const auto size =
                        largest_picture(vulkan, device, operation, samples, chroma, bits);
                    if (size)
                        reply.video->push_back({.direction = operation.direction,
                                                .codec = std::string{operation.codec},
                                                .profile = std::string{samples.profile},
                                                .bits = bits,
                                                .chroma = std::string{kChromas[chroma]},
                                                .max_width = video_side(size->width),
                                                .max_height = video_side(size->height),
                                                .name = "VK_VIDEO_CODEC_OPERATION_" +
                                                        std::string{operation.name} + "_BIT_KHR"});
                }
    }
}

}  // namespace gpuprobe::backends
