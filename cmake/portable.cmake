# What the portable program is linked with, under the names that the components know: static libraries, and headers that the
# compiler finds by itself. There is neither bus nor udev.

function(gpuprobe_static_library target name)
  find_library(${name}_ARCHIVE lib${name}.a)
  if(${name}_ARCHIVE)  # a library with a place of its own is linked before what it calls
    add_library(${target} STATIC IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${name}_ARCHIVE})
  else()  # libpci is for the worker alone, whose sysroot has it
    add_library(${target} INTERFACE IMPORTED GLOBAL)
  endif()
endfunction()

gpuprobe_static_library(PkgConfig::PCI pci)
gpuprobe_static_library(PkgConfig::NETTLE nettle)
gpuprobe_static_library(PkgConfig::HOGWEED hogweed)
# What hogweed calls.
gpuprobe_static_library(gpuprobe_gmp gmp)
target_link_libraries(PkgConfig::HOGWEED INTERFACE PkgConfig::NETTLE gpuprobe_gmp)
gpuprobe_static_library(PkgConfig::SECCOMP seccomp)
gpuprobe_static_library(PkgConfig::ZSTD zstd)
gpuprobe_static_library(ZLIB::ZLIB z)
foreach(target PkgConfig::UDEV nlohmann_json::nlohmann_json CLI11::CLI11 fmt::fmt)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
find_package(Threads REQUIRED)
link_libraries(Threads::Threads)
