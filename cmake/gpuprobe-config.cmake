# find_package(gpuprobe) defines gpuprobe::gpuprobe from the values in gpuprobe.pc, which is next to
# this file.
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
cmake_path(SET gpuprobe_pc_dir NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../pkgconfig")
set(ENV{PKG_CONFIG_PATH} "${gpuprobe_pc_dir}:$ENV{PKG_CONFIG_PATH}")
pkg_check_modules(GPUPROBE REQUIRED QUIET IMPORTED_TARGET GLOBAL gpuprobe)
if(NOT TARGET gpuprobe::gpuprobe)
  add_library(gpuprobe::gpuprobe ALIAS PkgConfig::GPUPROBE)
endif()
