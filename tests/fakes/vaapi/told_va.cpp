// SPDX-License-Identifier: Apache-2.0
// A VA driver that reports the content of the file next to it (the library's path with .json
// instead of .so): {"DEVICE NUMBER": node} or {"*": node}, by the number of the opened node
// ("1:3"). A node has this form:
//   {"vendor": text,
//    "profiles": [[profile, [[entrypoint, {attribute: value}], …]], …],
//    "counts": {"profiles": number, "entrypoints": number, "max": number},
//    "fail": {"init" | "profiles" | "entrypoints" | "attributes": status | "crash" | "hang"}}
// `counts` replaces the real counts in the driver's answers, and the capacities that it announces.
// Source: libva 2.17, va_backend.h.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <va/va_backend.h>
#include <va/va_drmcommon.h>

#include "../misbehave.h"
#include "decoder.h"

namespace {

using Json = nlohmann::json;

/// The file's description of the node that this driver opened.
Json told;  // NOLINT: a driver cannot keep its state elsewhere before it is initialized

Json read_file(const std::string& number) {
    Dl_info here{};
    ::dladdr(reinterpret_cast<const void*>(&read_file), &here);
    std::string path = here.dli_fname;
    path.replace(path.rfind(".so"), 3, ".json");
    std::ifstream file{path};
    const auto all = Json::parse(file);
    return all.contains(number) ? all.at(number) : all.at("*");
}

/// Behaves as the file describes for this place: succeeds, fails, crashes or hangs.
VAStatus reached(std::string_view place) {
    const auto failures = told.value("fail", Json::object());
    const auto failure = failures.find(place);
    if (failure == failures.end())
        return VA_STATUS_SUCCESS;
    if (*failure == "crash")
        fake::crash();
    if (*failure == "hang")
        fake::hang();
    return failure->get<VAStatus>();
}

/// The count in the file, otherwise the real count.
int count_of(std::string_view what, std::size_t real) {
    return told.value("counts", Json::object()).value(what, static_cast<int>(real));
}

/// The profile's entry points; null if the driver does not list the profile.
const Json* entrypoints_of(VAProfile profile) {
    for (const auto& row : told.at("profiles"))
        if (row.at(0) == static_cast<int>(profile))
            return &row.at(1);
    return nullptr;
}

VAStatus profiles(VADriverContextP, VAProfile* list, int* count) {
    const auto& rows = told.at("profiles");
    for (const auto& row : rows)
        *list++ = static_cast<VAProfile>(row.at(0).get<int>());
    *count = count_of("profiles", rows.size());
    return reached("profiles");
}

VAStatus entrypoints(VADriverContextP, VAProfile profile, VAEntrypoint* list, int* count) {
    const auto* const items = entrypoints_of(profile);
    if (!items)
        return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    for (const auto& item : *items)
        *list++ = static_cast<VAEntrypoint>(item.at(0).get<int>());
    *count = count_of("entrypoints", items->size());
    return reached("entrypoints");
}

VAStatus attributes(
    VADriverContextP, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib* list, int count) {
    const auto* const items = entrypoints_of(profile);
    for (int i = 0; items && i < count; ++i) {
        list[i].value = VA_ATTRIB_NOT_SUPPORTED;
        for (const auto& item : *items)
            if (item.at(0) == static_cast<int>(entrypoint))
                list[i].value =
                    item.at(1).value(std::to_string(static_cast<int>(list[i].type)), list[i].value);
    }
    return reached("attributes");
}

/// Reports one format, because FFmpeg refuses a driver without any format.
VAStatus image_formats(VADriverContextP, VAImageFormat* list, int* count) {
    *list = {};
    list->fourcc = VA_FOURCC_NV12;
    list->byte_order = VA_LSB_FIRST;
    list->bits_per_pixel = 12;
    *count = 1;
    return VA_STATUS_SUCCESS;
}

VAStatus terminate(VADriverContextP) {
    return VA_STATUS_SUCCESS;
}

/// Replaces all functions that the driver does not implement.
VAStatus unimplemented() {
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VAStatus __vaDriverInit_1_0(VADriverContextP);

// libva looks up this name after the names for later minor versions of its interface.
VAStatus __vaDriverInit_1_0(VADriverContextP context) {
    const auto* const drm = static_cast<drm_state*>(context->drm_state);
    struct stat info = {};
    (void)::fstat(drm->fd, &info);
    told =
        read_file(std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev)));
    if (const auto status = reached("init"); status != VA_STATUS_SUCCESS)
        return status;
    static std::string vendor;
    vendor = told.value("vendor", "told driver");
    context->str_vendor = vendor.c_str();
    context->version_major = 1;
    context->version_minor = 0;
    // libva refuses a driver that lacks one of these functions.
    context->max_profiles = count_of("max", std::max<std::size_t>(told.at("profiles").size(), 1));
    context->max_entrypoints = count_of("max", 32);
    context->max_attributes = 8;
    context->max_image_formats = 1;
    context->max_subpic_formats = 1;
    context->max_display_attributes = 1;
    auto* const functions = reinterpret_cast<VAStatus (**)()>(context->vtable);
    std::fill_n(functions, offsetof(VADriverVTable, reserved) / sizeof *functions, unimplemented);
    context->vtable->vaTerminate = terminate;
    context->vtable->vaQueryConfigProfiles = profiles;
    context->vtable->vaQueryConfigEntrypoints = entrypoints;
    context->vtable->vaGetConfigAttributes = attributes;
    context->vtable->vaQueryImageFormats = image_formats;
    fake_decoder::add_to(*context->vtable);
    return VA_STATUS_SUCCESS;
}
