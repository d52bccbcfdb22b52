# Compiles data/profiles/*.json into the decide room, so that a program that is not installed still
# has them. Included once, after gpuprobe_room(decide …).

file(GLOB profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/profiles/*.json)
list(SORT profiles)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profiles})

set(entries "")
foreach(profile IN LISTS profiles)
  get_filename_component(name "${profile}" NAME_WLE)
  file(READ "${profile}" json)
  string(APPEND entries "    {\"${name}\", R\"profile(${json})profile\"},\n")
endforeach()
set(text "// Generated from data/profiles by cmake/embed.cmake.
#include \"decide/builtin_profiles.h\"

namespace gpuprobe {
namespace {
constexpr BuiltinProfile kProfiles[] = {
${entries}};
}  // namespace

std::span<const BuiltinProfile> builtin_profiles() {
    return kProfiles;
}
}  // namespace gpuprobe
")

set(generated ${PROJECT_BINARY_DIR}/generated/builtin_profiles.cpp)
set(before "")
if(EXISTS ${generated})
  file(READ ${generated} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${generated} "${text}")
endif()
target_sources(gpuprobe_decide PRIVATE ${generated})
