# A component is one folder of src/, one static library, and a list of the components from which it may
# include headers. tests/lint checks the same dependencies in the text of the includes.

add_library(gpuprobe_flags INTERFACE)
target_compile_features(gpuprobe_flags INTERFACE cxx_std_20)
target_compile_options(gpuprobe_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wold-style-cast>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A designated initializer may leave out members, because every member has a default initializer. Data files that are
  # compiled in are longer than the 64 KiB that the standard requires a compiler to accept.
  target_compile_options(gpuprobe_flags INTERFACE -Wno-missing-field-initializers -Wno-overlength-strings
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
  # Otherwise, undefined behavior would only cause a line on stderr, which no test reads.
  target_compile_options(gpuprobe_flags INTERFACE -fsanitize=${GPUPROBE_SANITIZE} -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  target_link_options(gpuprobe_flags INTERFACE -fsanitize=${GPUPROBE_SANITIZE})
endif()

# In the portable program, FILE_portable.cpp replaces FILE.cpp. Other programs do not contain FILE_portable.cpp.
function(gpuprobe_choose_portable list)
  set(chosen ${${list}})
  list(FILTER chosen INCLUDE REGEX "_portable\\.cpp$")
  if(GPUPROBE_PORTABLE)
    list(TRANSFORM chosen REPLACE "_portable\\.cpp$" ".cpp")
  endif()
  list(REMOVE_ITEM ${list} "" ${chosen})
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# With GPUPROBE_UNITY, up to this many files of one folder are compiled as one unit, because most of the time is needed
# for headers, which are read once for each unit. A name must then be unique within a folder;
# tests/lint/unity.py checks this.
set(GPUPROBE_UNIT_FILES 24)
# A program links whole units. These files are compiled separately, because they call a library that not every program
# needs, or because they have their own options.
set(GPUPROBE_APART backends/cpu/cpu_kernels.cpp base/sha256.cpp base/value.cpp cli/verbs.cpp
                   engine/knowledge_update.cpp inventory/gpu_code.cpp inventory/installed_build.cpp
                   inventory/object_file.cpp knowledge/bundle.cpp knowledge/signature.cpp wire/varlink.cpp)
function(gpuprobe_unite component sources)
  if(NOT GPUPROBE_UNITY)
    return()
  endif()
  set_target_properties(gpuprobe_${component} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # The linker leaves out functions of a unit that a program does not call.
  target_compile_options(gpuprobe_${component} PRIVATE -ffunction-sections -fdata-sections
                                                  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  target_link_options(gpuprobe_${component} INTERFACE -Wl,--gc-sections)
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE file)
    cmake_path(GET file PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER ${folder} folder)
    if(NOT file IN_LIST GPUPROBE_APART)
      list(APPEND folders ${folder})
      list(APPEND ${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    # Make units of similar size: 17 files become 9 and 8.
    list(LENGTH ${folder} count)
    math(EXPR units "(${count} + ${GPUPROBE_UNIT_FILES} - 1) / ${GPUPROBE_UNIT_FILES}")
    set(place 0)
    foreach(source IN LISTS ${folder})
      math(EXPR unit "${place} * ${units} / ${count}")
      math(EXPR place "${place} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${unit})
    endforeach()
  endforeach()
endfunction()

# gpuprobe_component(NAME [USES component...] [LIBRARIES target...])
function(gpuprobe_component name)
  cmake_parse_arguments(COMPONENT "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  gpuprobe_choose_portable(sources)
  add_library(gpuprobe_${name} STATIC ${sources})
  target_include_directories(gpuprobe_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM COMPONENT_USES PREPEND gpuprobe_)
  target_link_libraries(gpuprobe_${name} PUBLIC ${COMPONENT_USES} PRIVATE gpuprobe_flags ${COMPONENT_LIBRARIES})
  gpuprobe_unite(${name} "${sources}")
  set_property(GLOBAL APPEND PROPERTY GPUPROBE_COMPONENTS gpuprobe_${name})
endfunction()
