# The libraries with which the portable program is linked, under the names that the components use: static libraries, and
# headers that the compiler finds by itself. The portable program uses neither D-Bus nor udev.

function(gpuprobe_static_library target name)
  find_library(${name}_ARCHIVE lib${name}.a)
  if(${name}_ARCHIVE)  # a library with its own path is linked before the libraries that it calls
    add_library(${target} STATIC IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${name}_ARCHIVE})
  else()  # libpci is only for the worker, whose sysroot contains it
    add_library(${target} INTERFACE IMPORTED GLOBAL)
  endif()
endfunction()

gpuprobe_static_library(PkgConfig::PCI pci)
gpuprobe_static_library(PkgConfig::NETTLE nettle)
gpuprobe_static_library(PkgConfig::HOGWEED hogweed)
# hogweed calls functions of this library.
gpuprobe_static_library(gpuprobe_gmp gmp)
target_link_libraries(PkgConfig::HOGWEED INTERFACE PkgConfig::NETTLE gpuprobe_gmp)
gpuprobe_static_library(PkgConfig::SECCOMP seccomp)
gpuprobe_static_library(PkgConfig::ZSTD zstd)
gpuprobe_static_library(ZLIB::ZLIB z)
foreach(target PkgConfig::UDEV nlohmann_json::nlohmann_json CLI11::CLI11 fmt::fmt-header-only)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
endforeach()
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY)
find_package(Threads REQUIRED)
link_libraries(Threads::Threads)
