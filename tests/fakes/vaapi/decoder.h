// SPDX-License-Identifier: Apache-2.0
// The part of a VA driver that decodes: each picture becomes gray, whatever the stream contains.
#pragma once

#include <cstdint>
#include <vector>

#include <va/va_backend.h>

namespace fake_decoder {

constexpr std::uint8_t kGray = 0x80;

/// Returns a new number for an object. This driver stores no other data about objects.
inline std::uint32_t next() {
    static std::uint32_t last = 0;
    return ++last;
}

/// The pixels of the image that was created last.
inline std::vector<std::uint8_t>& pixels() {
    static std::vector<std::uint8_t> all;
    return all;
}

inline VAStatus create_config(
    VADriverContextP, VAProfile, VAEntrypoint, VAConfigAttrib*, int, VAConfigID* config) {
    *config = next();
    return VA_STATUS_SUCCESS;
}

/// Reports one attribute: surfaces have the format NV12. FFmpeg passes no list to get the number.
inline VAStatus surface_attributes(VADriverContextP,
                                   VAConfigID,
                                   VASurfaceAttrib* list,
                                   unsigned int* count) {
    if (list) {
        list->type = VASurfaceAttribPixelFormat;
        list->flags = VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE;
        list->value.type = VAGenericValueTypeInteger;
        list->value.value.i = VA_FOURCC_NV12;
    }
    *count = 1;
    return VA_STATUS_SUCCESS;
}

inline VAStatus create_surfaces(VADriverContextP,
                                unsigned int,
                                unsigned int,
                                unsigned int,
                                VASurfaceID* surfaces,
                                unsigned int count,
                                VASurfaceAttrib*,
                                unsigned int) {
    for (unsigned int i = 0; i < count; ++i)
        surfaces[i] = next();
    return VA_STATUS_SUCCESS;
}

inline VAStatus create_context(
    VADriverContextP, VAConfigID, int, int, int, VASurfaceID*, int, VAContextID* context) {
    *context = next();
    return VA_STATUS_SUCCESS;
}

inline VAStatus create_buffer(VADriverContextP,
                              VAContextID,
                              VABufferType,
                              unsigned int,
                              unsigned int,
                              void*,
                              VABufferID* buffer) {
    *buffer = next();
    return VA_STATUS_SUCCESS;
}

inline VAStatus create_image(
    VADriverContextP, VAImageFormat* format, int width, int height, VAImage* image) {
    const auto columns = static_cast<std::uint32_t>(width);
    const auto rows = static_cast<std::uint32_t>(height);
    *image = {};
    image->image_id = next();
    image->buf = next();
    image->format = *format;
    image->width = static_cast<std::uint16_t>(width);
    image->height = static_cast<std::uint16_t>(height);
    image->data_size = columns * rows * 3 / 2;
    image->num_planes = 2;
    image->pitches[0] = image->pitches[1] = columns;
    image->offsets[1] = columns * rows;
    pixels().assign(image->data_size, kGray);
    return VA_STATUS_SUCCESS;
}

/// FFmpeg maps only images.
inline VAStatus map_buffer(VADriverContextP, VABufferID, void** data) {
    *data = pixels().data();
    return VA_STATUS_SUCCESS;
}

/// Succeeds without doing anything.
template <class... Arguments>
VAStatus nothing(Arguments...) {
    return VA_STATUS_SUCCESS;
}

inline void add_to(VADriverVTable& functions) {
    functions.vaCreateConfig = create_config;
    functions.vaDestroyConfig = nothing;
    functions.vaQuerySurfaceAttributes = surface_attributes;
    functions.vaCreateSurfaces2 = create_surfaces;
    functions.vaDestroySurfaces = nothing;
    functions.vaCreateContext = create_context;
    functions.vaDestroyContext = nothing;
    functions.vaCreateBuffer = create_buffer;
    functions.vaDestroyBuffer = nothing;
    functions.vaBeginPicture = nothing;
    functions.vaRenderPicture = nothing;
    functions.vaEndPicture = nothing;
    functions.vaSyncSurface = nothing;
    functions.vaCreateImage = create_image;
    functions.vaDestroyImage = nothing;
    functions.vaGetImage = nothing;
    functions.vaMapBuffer = map_buffer;
    functions.vaUnmapBuffer = nothing;
}

}  // namespace fake_decoder
