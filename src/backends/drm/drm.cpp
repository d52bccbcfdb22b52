// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/drm.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backends/denied_node.h"
#include "base/handle.h"

namespace gpuprobe::backends {
namespace {

constexpr int kMaxRepeats = 64;

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

Error open_error(const std::string& path, int number) {
    if (is_denied(path, number))
        return Error{ErrorCode::NotAuthorized, path + ": denied by the device control group"};
    return errno_error(path, number);
}

DeviceFacts facts_from_sysfs(const RenderNode& node, std::uint32_t index) {
    DeviceFacts facts{.index = index,
                      .vendor_id = node.vendor_id,
                      .device_id = node.device_id,
                      .pci = node.pci,
                      .drm = node.drm};
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

}  // namespace

Result<std::unique_ptr<DrmDevice>> open_drm_device(const std::string& path,
                                                   const std::string& device_number) {
    // Looked at before it is opened: opening may wake another device or hang on a pipe.
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0)
        return errno_error(path, errno);
    if (!is_the_device(info, device_number))
        return Error{ErrorCode::NotFound, path + ": not the device " + device_number};
    UniqueFd fd{open_for_use(path.c_str())};
    if (!fd)
        return open_error(path, errno);
    return std::unique_ptr<DrmDevice>{std::make_unique<OpenedDevice>(std::move(fd))};
}

Answer survey_drm(const FileSystem& files, const OpenDrmDevice& open, Sink& sink) {
    sink.phase("enumerate");
    const auto nodes = render_nodes(files);
    if (nodes.empty())
        return without_devices("/sys/class/drm: no render node", {{"api", "drm"}});
    sink.phase("query");
    Answer answer{.outcome = Outcome::Failed};
    std::uint32_t index = 0;
    for (const auto& node : nodes) {
        auto facts = facts_from_sysfs(node, index++);
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
