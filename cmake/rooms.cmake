# A room is one folder of src/, one static library, and the list of rooms it may include from.
# tests/lint checks the same arrows on the text of the includes.

add_library(gpuprobe_flags INTERFACE)
target_compile_features(gpuprobe_flags INTERFACE cxx_std_20)
target_compile_options(gpuprobe_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wold-style-cast>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A designated initialiser may leave out members: every member has a default initialiser.
  target_compile_options(gpuprobe_flags INTERFACE -Wno-missing-field-initializers
                                                  -Wno-gnu-zero-variadic-macro-arguments)
endif()
if(GPUPROBE_WERROR)
  target_compile_options(gpuprobe_flags INTERFACE -Werror)
endif()
if(GPUPROBE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GPUPROBE_FUZZ needs clang: use the preset fuzz, or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(gpuprobe_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(GPUPROBE_SANITIZE)
  # Undefined behaviour would else be a line on stderr that no test reads.
  target_compile_options(gpuprobe_flags INTERFACE -fsanitize=${GPUPROBE_SANITIZE} -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  target_link_options(gpuprobe_flags INTERFACE -fsanitize=${GPUPROBE_SANITIZE})
endif()

# gpuprobe_room(NAME [USES room...] [LIBRARIES target...])
function(gpuprobe_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  add_library(gpuprobe_${name} STATIC ${sources})
  target_include_directories(gpuprobe_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM ROOM_USES PREPEND gpuprobe_)
  target_link_libraries(gpuprobe_${name} PUBLIC ${ROOM_USES} PRIVATE gpuprobe_flags ${ROOM_LIBRARIES})
endfunction()
