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

# FILE_portable.cpp is FILE.cpp in the portable program, and nothing in the others.
function(gpuprobe_choose_portable list)
  set(chosen ${${list}})
  list(FILTER chosen INCLUDE REGEX "_portable\\.cpp$")
  if(GPUPROBE_PORTABLE)
    list(TRANSFORM chosen REPLACE "_portable\\.cpp$" ".cpp")
  endif()
  list(REMOVE_ITEM ${list} "" ${chosen})
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# With GPUPROBE_PRECOMPILED, what nearly every file includes is read once for the rooms that are compiled with the
# same options, and not for each of their files.
set(GPUPROBE_PRECOMPILED_HEADERS algorithm array chrono functional map memory optional set span string utility variant
                                 vector)
list(TRANSFORM GPUPROBE_PRECOMPILED_HEADERS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
function(gpuprobe_precompile room)
  if(NOT GPUPROBE_PRECOMPILED)
    return()
  endif()
  if(room STREQUAL base OR room STREQUAL knowledge)
    target_precompile_headers(gpuprobe_${room} PRIVATE ${GPUPROBE_PRECOMPILED_HEADERS})
  elseif(room MATCHES "^(report|policy|wire)$")  # policy has options, and wire a language, of its own
    target_precompile_headers(gpuprobe_${room} PRIVATE ${GPUPROBE_PRECOMPILED_HEADERS}
      "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_SOURCE_DIR}/base/parse.h>"
      "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_SOURCE_DIR}/report/fact_key.h>"
      "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_SOURCE_DIR}/report/report.h>")
  else()
    target_precompile_headers(gpuprobe_${room} REUSE_FROM gpuprobe_report)
  endif()
endfunction()

# gpuprobe_room(NAME [USES room...] [LIBRARIES target...])
function(gpuprobe_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  gpuprobe_choose_portable(sources)
  add_library(gpuprobe_${name} STATIC ${sources})
  target_include_directories(gpuprobe_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM ROOM_USES PREPEND gpuprobe_)
  target_link_libraries(gpuprobe_${name} PUBLIC ${ROOM_USES} PRIVATE gpuprobe_flags ${ROOM_LIBRARIES})
  gpuprobe_precompile(${name})
endfunction()
