// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/drm.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backends/driver_library.h"
#include "backends/texts.h"
#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kClass = "/sys/class/drm";
constexpr std::string_view kRender = "renderD";
constexpr std::string_view kCard = "card";
constexpr std::size_t kMaxNodes = 64;
constexpr int kMaxParents = 4;

std::string_view name_of(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

std::string_view folder_of(std::string_view path) {
    return path.substr(0, path.find_last_of('/'));
}

bool is_numbered(std::string_view name, std::string_view prefix) {
    return name.starts_with(prefix) && parse_number<unsigned>(name.substr(prefix.size()));
}

/// The name of the bus or class of a device ("pci"); empty if unknown.
std::string subsystem_of(const FileSystem& files, const std::string& folder) {
    const auto target = files.link_target(folder + "/subsystem");
    return target ? std::string{name_of(*target)} : std::string{};
}

/// The number in a folder's file `dev`; nullopt unless it has the form "226:128".
std::optional<std::string> device_number(const FileSystem& files, const std::string& folder) {
    auto text = files.line(folder + "/dev");
    if (!text)
        return std::nullopt;
    const auto numbers = split(*text, ':');
    const bool is_pair = numbers.size() == 2 && parse_number<unsigned>(numbers[0]) &&
                         parse_number<unsigned>(numbers[1]);
    return is_pair ? text : std::nullopt;
}

/// The device number of the card node of the same device. Drivers that can only render may have no
/// card node.
std::optional<std::string> primary_number(const FileSystem& files, const std::string& device) {
    const auto names = files.list(device + "/drm");
    if (!names)
        return std::nullopt;
    for (const auto& name : *names)
        if (is_numbered(name, kCard))
            return device_number(files, device + "/drm/" + name);
    return std::nullopt;
}

/// A PCI id from a sysfs file ("0x10de") as four digits.
std::optional<std::string> id_digits(const FileSystem& files, const std::string& path) {
    const auto text = files.line(path);
    const auto number = text ? parse_hex<std::uint32_t>(*text) : std::nullopt;
    return number ? pci_id_text(*number) : std::nullopt;
}

/// Sets the node's id, PCI address and folders. Some DRM devices are children of the real device,
/// created by a bus inside it (virtio-gpu below virtio-pci, tegra's DRM device below host1x). The
/// function therefore climbs to the real device and records every folder on the way.
void find_device(const FileSystem& files, std::string folder, RenderNode& node) {
    for (int step = 0; step < kMaxParents; ++step) {
        node.folders.push_back(folder);
        const auto subsystem = subsystem_of(files, folder);
        if (subsystem != "virtio" && subsystem != "host1x") {
            node.id =
                (subsystem.empty() ? "other" : subsystem) + ":" + scrubbed(name_of(folder), 128);
            if (subsystem == "pci")
                node.pci = parse_text(name_of(folder), std::type_identity<PciAddress>{});
            return;
        }
        folder = std::string{folder_of(folder)};
    }
}

constexpr int kMaxRepeats = 64;

/// A DRM node opened on the running system.
class OpenedDevice final : public DrmDevice {
public:
    explicit OpenedDevice(UniqueFd fd) : fd_{std::move(fd)} {}

    [[nodiscard]] int ask(unsigned long request, void* argument) const override {
        for (int repeat = 0; repeat < kMaxRepeats; ++repeat) {
            if (::ioctl(fd_.get(), request, argument) >= 0)
                return 0;
            if (errno != EINTR && errno != EAGAIN)
                return errno;
        }
        // The call was interrupted kMaxRepeats times in a row: give up instead of repeating it
        // forever.
        return EINTR;
    }

private:
    UniqueFd fd_ = {};
};

bool is_the_device(const struct stat& info, const std::string& device_number) {
    return S_ISCHR(info.st_mode) &&
           std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev)) ==
               device_number;
}

/// The error for an open(2) that failed with errno `number`.
Error open_error(const std::string& path, int number) {
    if (is_denied(path, number))
        return Error{ErrorCode::NotAuthorized, path + ": denied by the device control group"};
    return errno_error(path, number);
}

}  // namespace

DeviceFacts facts_from_sysfs(const RenderNode& node, std::uint32_t index) {
    DeviceFacts facts{
        .index = index, .vendor_id = node.vendor_id, .device_id = node.device_id, .pci = node.pci};
    if (node.drm.render)
        facts.drm = node.drm;
    facts.extra["node"] = node.path;
    return facts;
}

Reason not_opened(const RenderNode& node, const Error& problem) {
    if (problem.code == ErrorCode::PermissionDenied)
        return because("no-permission", {{"node", node.path}, {"device", node.id}});
    if (problem.code == ErrorCode::NotAuthorized)
        return because("device-denied", {{"node", node.path}, {"device", node.id}});
    return because(
        "api-refused",
        {{"call", "open"}, {"node", node.path}, {"device", node.id}, {"error", problem.text}});
}

std::optional<RenderNode> node_in_sysfs(const FileSystem& files,
                                        const std::string& class_folder,
                                        const std::string& path) {
    const auto folder = class_folder + "/" + std::string{name_of(path)};
    auto number = device_number(files, folder);
    const auto device = files.real_path(folder + "/device");
    if (!number || !device)
        return std::nullopt;
    RenderNode node{.path = path, .device_number = *std::move(number)};
    find_device(files, *device, node);
    if (node.pci) {
        node.vendor_id = id_digits(files, node.folders.back() + "/vendor");
        node.device_id = id_digits(files, node.folders.back() + "/device");
    }
    return node;
}

std::vector<RenderNode> render_nodes(const FileSystem& files) {
    std::vector<RenderNode> nodes;
    const auto names = files.list(kClass);
    if (!names)
        return nodes;
    for (const auto& name : *names) {
        if (!is_numbered(name, kRender) || nodes.size() == kMaxNodes)
            continue;
        if (auto node = node_in_sysfs(files, std::string{kClass}, "/dev/dri/" + name)) {
            node->drm.render = node->device_number;
            node->drm.primary = primary_number(files, node->folders.front());
            nodes.push_back(*std::move(node));
        }
    }
    return nodes;
}

bool is_asleep(const FileSystem& files, const RenderNode& node) {
    return std::ranges::any_of(node.folders, [&](const std::string& folder) {
        const auto status = files.line(folder + "/power/runtime_status");
        return status == "suspended" || status == "suspending";
    });
}

Result<UniqueFd> open_node(const std::string& path, const std::string& device_number) {
    // Check the file before opening it: opening could wake another device, or hang on a pipe.
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0)
        return errno_error(path, errno);
    if (!is_the_device(info, device_number))
        return Error{ErrorCode::NotFound, path + ": not the device " + device_number};
    UniqueFd fd{open_for_use(path.c_str())};
    if (!fd)
        return open_error(path, errno);
    return fd;
}

Result<std::unique_ptr<DrmDevice>> open_drm_device(const std::string& path,
                                                   const std::string& device_number) {
    auto fd = TRY(open_node(path, device_number));
    return std::unique_ptr<DrmDevice>{std::make_unique<OpenedDevice>(std::move(fd))};
}

Answer survey_drm(const FileSystem& files, const OpenDrmDevice& open, Sink& sink) {
    sink.phase("enumerate");
    const auto nodes = render_nodes(files);
    if (nodes.empty())
        return without_devices("/sys/class/drm: no render node", {{"api", "drm"}});
    sink.phase("query");
    // If at least one node was opened, the outcome is Answered; problems with other nodes become
    // reasons.
    Answer answer{.outcome = Outcome::Failed};
    std::uint32_t index = 0;
    for (const auto& node : nodes) {
        auto facts = facts_from_sysfs(node, index++);
        // Do not wake a sleeping GPU only in order to describe it.
        if (is_asleep(files, node)) {
            answer.reasons.push_back(because("asleep", {{"device", node.id}}));
            continue;
        }
        const auto device = open(node);
        if (!device) {
            answer.reasons.push_back(not_opened(node, device.error()));
            continue;
        }
        add_drm_facts(**device, facts);
        sink.device(facts);
        answer.outcome = Outcome::Answered;
    }
    if (answer.outcome == Outcome::Failed)
        answer.note = "no render node could be opened";
    return answer;
}

Answer query_drm(const ProbeTarget&, Sink& sink) {
    const auto open = [](const RenderNode& node) {
        return open_drm_device(node.path, node.device_number);
    };
    return survey_drm(RootedFiles{}, open, sink);
}

}  // namespace gpuprobe::backends
