# Selects clang and libc++ for GPUPROBE_ARCH, with the Debian root folder in CMAKE_SYSROOT. The resulting programs run on
# systems whose C library is at least as new as the C library in that Debian release.

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPUPROBE_ARCH)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${GPUPROBE_ARCH})
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET ${GPUPROBE_ARCH}-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET ${GPUPROBE_ARCH}-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT -stdlib=libc++)
# Merge functions with the same code if their addresses are not compared.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -Wl,--icf=safe")
# The emulator for programs that the build itself runs (src/backends/filter_programs_main.cpp).
if(NOT GPUPROBE_ARCH STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${GPUPROBE_ARCH}-static)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
