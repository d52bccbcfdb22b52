// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that answers the ioctls of V4L2 as the file beside it says (the
// library's path with .json in place of .so). The file has one codec for each device number:
// {"1:3": {"driver": "rkvdec", "card": "rkvdec", "capabilities": 16384, "out": [["S264", 4096,
// 2304]],
//  "capture": [["NV12"]], "menus": {"10029675": [0, 1, 2, 4]}, "fail": "crash"}}
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include <dlfcn.h>
#include <linux/videodev2.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../misbehave.h"

namespace {

using Json = nlohmann::json;

/// The file is read when the library is loaded, because the worker's sandbox hides the file later.
const Json& told() {
    static const Json document = [] {
        Dl_info here{};
        ::dladdr(reinterpret_cast<const void*>(&told), &here);
        std::string path = here.dli_fname;
        path.replace(path.rfind(".so"), 3, ".json");
        std::ifstream file{path};
        return Json::parse(file, nullptr, false);
    }();
    return document;
}
__attribute__((constructor)) void on_load() {
    (void)told();
}

/// The codec behind the descriptor; null if the file does not have it.
const Json* codec_of(int fd) {
    struct stat info = {};
    if (::fstat(fd, &info) != 0 || !told().is_object())
        return nullptr;
    const auto found = told().find(std::to_string(major(info.st_rdev)) + ":" +
                                   std::to_string(minor(info.st_rdev)));
    return found == told().end() ? nullptr : &*found;
}

std::uint32_t number_of(const std::string& fourcc) {
    std::uint32_t number = 0;
    std::memcpy(&number, fourcc.data(), std::min(fourcc.size(), sizeof number));
    return number;
}

int refuse(int number) {
    errno = number;
    return -1;
}

int describe(const Json& codec, v4l2_capability& device) {
    if (codec.value("fail", "") == "crash")
        fake::crash();
    if (codec.value("fail", "") == "hang")
        fake::hang();
    if (codec.value("fail", "") == "refuse")
        return refuse(ENOTTY);
    device = {};
    codec.value("driver", "")
        .copy(reinterpret_cast<char*>(device.driver), sizeof device.driver - 1);
    codec.value("card", "").copy(reinterpret_cast<char*>(device.card), sizeof device.card - 1);
    device.device_caps = codec.value("capabilities", 0U);
    device.capabilities = device.device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

int list_format(const Json& codec, v4l2_fmtdesc& format) {
    const bool is_out = format.type == V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE;
    if (!is_out && format.type != V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE)
        return refuse(EINVAL);
    const Json list = codec.value(is_out ? "out" : "capture", Json::array());
    if (format.index >= list.size())
        return refuse(EINVAL);
    format.pixelformat = number_of(list[format.index][0].get<std::string>());
    return 0;
}

int list_size(const Json& codec, v4l2_frmsizeenum& size) {
    for (const auto* queue : {"out", "capture"})
        for (const Json& row : codec.value(queue, Json::array()))
            if (number_of(row[0].get<std::string>()) == size.pixel_format && row.size() == 3) {
                if (size.index > 0)
                    return refuse(EINVAL);
                size.type = V4L2_FRMSIZE_TYPE_STEPWISE;
                size.stepwise = {16, row[1], 16, 16, row[2], 16};
                return 0;
            }
    return refuse(EINVAL);
}

Json menu_of(const Json& codec, std::uint32_t control) {
    return codec.value("menus", Json::object()).value(std::to_string(control), Json::array());
}

int describe_control(const Json& codec, v4l2_queryctrl& control) {
    const Json menu = menu_of(codec, control.id);
    if (menu.empty())
        return refuse(EINVAL);
    control.type = V4L2_CTRL_TYPE_MENU;
    control.minimum = menu.front();
    control.maximum = menu.back();
    return 0;
}

int list_item(const Json& codec, const v4l2_querymenu& item) {
    const Json menu = menu_of(codec, item.id);
    return std::find(menu.begin(), menu.end(), item.index) == menu.end() ? refuse(EINVAL) : 0;
}

int answer(const Json& codec, unsigned long request, void* argument) {
    switch (request) {
        case VIDIOC_QUERYCAP:
            return describe(codec, *static_cast<v4l2_capability*>(argument));
        case VIDIOC_ENUM_FMT:
            return list_format(codec, *static_cast<v4l2_fmtdesc*>(argument));
        case VIDIOC_ENUM_FRAMESIZES:
            return list_size(codec, *static_cast<v4l2_frmsizeenum*>(argument));
        case VIDIOC_QUERYCTRL:
            return describe_control(codec, *static_cast<v4l2_queryctrl*>(argument));
        case VIDIOC_QUERYMENU:
            return list_item(codec, *static_cast<v4l2_querymenu*>(argument));
        default:
            return refuse(ENOTTY);
    }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void* const argument = va_arg(list, void*);
    va_end(list);
    using Function = int (*)(int, unsigned long, ...);
    static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "ioctl"));
    const bool is_video = ((request >> 8U) & 0xffU) == 'V';
    const auto* codec = is_video ? codec_of(fd) : nullptr;
    return codec ? answer(*codec, request, argument) : real(fd, request, argument);
}
