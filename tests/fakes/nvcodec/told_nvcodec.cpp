// SPDX-License-Identifier: Apache-2.0
// A libnvcuvid.so.1 and a libnvidia-encode.so.1 that report the content of the file nvcodec.json in
// their folder:
//   {"decode": [[codec, chroma, bits, width, height], …],
//    "encode": {"version": number, "codecs": [[GUID, {capability: value}, [GUID of a profile, …]],
//    …]}, "counts": {"codecs": number, "profiles": number}, "fail": {"decode" | "version" |
//    "create" | "open" | "codecs" | "profiles" | "caps":
//             status | "crash" | "hang"}}
// `counts` replaces the real counts in the answers. The offsets of the members are those of
// FFmpeg/nv-codec-headers at tag n13.0.19.0, and are independent of src/backends/nvcodec.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include "../misbehave.h"

namespace {

using Json = nlohmann::json;
constexpr int kInvalidPointer = 6;
constexpr int kInvalidVersion = 15;

struct Guid {
    std::uint32_t first;
    std::uint16_t second;
    std::uint16_t third;
    std::uint8_t rest[8];
};

const Json& told() {
    static const Json all = [] {
        Dl_info here{};
        ::dladdr(reinterpret_cast<const void*>(&told), &here);
        const std::string path = here.dli_fname;
        std::ifstream file{path.substr(0, path.rfind('/')) + "/nvcodec.json"};
        return Json::parse(file);
    }();
    return all;
}

/// Behaves as the file describes for this place: succeeds, fails, crashes or hangs.
int reached(std::string_view place) {
    const auto failures = told().value("fail", Json::object());
    const auto failure = failures.find(place);
    if (failure == failures.end())
        return 0;
    if (*failure == "crash")
        fake::crash();
    if (*failure == "hang")
        fake::hang();
    return failure->get<int>();
}

template <class Number>
Number number_at(const void* structure, std::size_t offset) {
    Number number{};
    std::memcpy(&number, static_cast<const char*>(structure) + offset, sizeof number);
    return number;
}
template <class Number>
void write_at(void* structure, std::size_t offset, Number number) {
    std::memcpy(static_cast<char*>(structure) + offset, &number, sizeof number);
}

Guid guid_of(const std::string& text) {
    Guid guid{};
    unsigned bytes[10] = {};
    std::sscanf(text.c_str(), "%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x", &guid.first, &bytes[0],
                &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5], &bytes[6], &bytes[7],
                &bytes[8], &bytes[9]);
    guid.second = static_cast<std::uint16_t>(bytes[0]);
    guid.third = static_cast<std::uint16_t>(bytes[1]);
    for (int i = 0; i < 8; ++i)
        guid.rest[i] = static_cast<std::uint8_t>(bytes[i + 2]);
    return guid;
}

const Json* row_of(const Guid& codec) {
    for (const auto& row : told().at("encode").at("codecs"))
        if (const auto guid = guid_of(row.at(0)); std::memcmp(&guid, &codec, sizeof guid) == 0)
            return &row;
    return nullptr;
}

/// Checks a structure's version number, and whether this driver supports the API version in it.
bool is_of_version(std::uint32_t version, std::uint32_t structure) {
    const auto newest = told().at("encode").value("version", 0xd0U);
    const auto major = version & 0xffU;
    const auto minor = version >> 24U & 0xfU;
    return (version >> 16U & 0xffU) == structure && version >> 28U == 7 &&
           (major << 4U | minor) <= newest;
}

int fill(std::string_view what, const Json& guids, Guid* list, unsigned room, unsigned* count) {
    unsigned written = 0;
    for (const auto& guid : guids)
        if (written < room)
            list[written++] = guid_of(guid);
    *count = told().value("counts", Json::object()).value(what, written);
    return reached(what);
}

int open_session(void* parameters, void** session) {
    if (const auto status = reached("open"))
        return status;
    if (!is_of_version(number_at<std::uint32_t>(parameters, 0), 1) ||
        (number_at<std::uint32_t>(parameters, 24) & 0xffU) !=
            (number_at<std::uint32_t>(parameters, 0) & 0xffU))
        return kInvalidVersion;
    // The driver accepts only CUDA contexts.
    if (number_at<std::uint32_t>(parameters, 4) != 1 || !number_at<void*>(parameters, 8))
        return kInvalidPointer;
    static int here = 0;
    *session = &here;
    return 0;
}
int close_session(void* session) {
    return session ? 0 : kInvalidPointer;
}
int codecs(void*, Guid* list, unsigned room, unsigned* count) {
    Json guids = Json::array();
    for (const auto& row : told().at("encode").at("codecs"))
        guids.push_back(row.at(0));
    return fill("codecs", guids, list, room, count);
}
int profiles(void*, Guid codec, Guid* list, unsigned room, unsigned* count) {
    const auto* const row = row_of(codec);
    return row ? fill("profiles", row->at(2), list, room, count) : kInvalidPointer;
}
int caps(void*, Guid codec, void* parameter, int* value) {
    const auto* const row = row_of(codec);
    if (!row || !is_of_version(number_at<std::uint32_t>(parameter, 0), 1))
        return kInvalidVersion;
    *value = row->at(1).value(std::to_string(number_at<int>(parameter, 4)), 0);
    return reached("caps");
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuvidGetDecoderCaps(void* caps) {
    for (std::size_t at = 24; at < 88; at += 4)
        write_at<std::uint32_t>(caps, at, 0);
    const auto asked = Json::array(
        {number_at<int>(caps, 0), number_at<int>(caps, 4), number_at<int>(caps, 8) + 8});
    for (const auto& row : told().at("decode"))
        if (std::equal(asked.begin(), asked.end(), row.begin())) {
            write_at<std::uint8_t>(caps, 24, 1);
            write_at<std::uint32_t>(caps, 28, row.at(3));
            write_at<std::uint32_t>(caps, 32, row.at(4));
        }
    return reached("decode");
}

__attribute__((visibility("default"))) int NvEncodeAPIGetMaxSupportedVersion(unsigned* version) {
    *version = told().at("encode").value("version", 0xd0U);
    return reached("version");
}

__attribute__((visibility("default"))) int NvEncodeAPICreateInstance(void* functions) {
    if (!is_of_version(number_at<std::uint32_t>(functions, 0), 2))
        return kInvalidVersion;
    write_at(functions, 32, profiles);
    write_at(functions, 40, codecs);
    write_at(functions, 64, ::caps);
    write_at(functions, 224, close_session);
    write_at(functions, 240, open_session);
    return reached("create");
}
}
