# Fake libcuda.so.1 and libnvidia-ml.so.1, with one folder for each behavior: fakes/nvidia/<variant>/.
# gpuprobe_fake_nvidia(VARIANT cuda|nvml SONAME result-of-init crashes-in-a-query [fault-of-fakes/compute.h])
function(gpuprobe_fake_nvidia variant library soname init crash)
  set(target fake_${library}_${variant})
  add_library(${target} MODULE ${CMAKE_CURRENT_LIST_DIR}/${library}/fake_${library}.cpp)
  set(fault None)
  if(ARGC GREATER 5)
    set(fault ${ARGV5})
  endif()
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE FAKE_INIT=${init} FAKE_CRASH=${crash} FAKE_FAULT=${fault})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${soname} SUFFIX ""
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes/nvidia/${variant})
endfunction()

gpuprobe_fake_nvidia(healthy cuda libcuda.so.1 0 false)
gpuprobe_fake_nvidia(healthy nvml libnvidia-ml.so.1 0 false)
gpuprobe_fake_nvidia(no-device cuda libcuda.so.1 100 false)
gpuprobe_fake_nvidia(unknown-error cuda libcuda.so.1 999 false)
gpuprobe_fake_nvidia(crash cuda libcuda.so.1 0 true)
gpuprobe_fake_nvidia(not-loaded nvml libnvidia-ml.so.1 9 false)
gpuprobe_fake_nvidia(mismatch nvml libnvidia-ml.so.1 18 false)
# Drivers that answer every query, but fail during computations. Each folder has the name of the fault.
foreach(fault WrongNumbers NeverEnds NoMemory LostHalfway Crash BuildFails NoCompiler WrongRates)
  gpuprobe_fake_nvidia(${fault} cuda libcuda.so.1 0 false ${fault})
endforeach()
# A GPU whose memory is used by other programs.
gpuprobe_fake_nvidia(full cuda libcuda.so.1 0 false)
gpuprobe_fake_nvidia(full nvml libnvidia-ml.so.1 0 false NoMemory)
# A GPU in MIG mode.
gpuprobe_fake_nvidia(divided nvml libnvidia-ml.so.1 0 false Divided)
gpuprobe_fake_nvidia(divided cuda libcuda.so.1 0 false)
target_compile_definitions(fake_cuda_divided PRIVATE FAKE_DIVIDED)

# Two drivers that cannot be loaded: one needs a version of a symbol that the library in its folder lacks, and the other crashes
# in a resolver function that the dynamic linker calls.
add_library(fake_version_wanted SHARED ${CMAKE_CURRENT_LIST_DIR}/cuda/versioned.cpp)
target_link_options(fake_version_wanted PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/cuda/wanted.map)
add_library(fake_version_there SHARED ${CMAKE_CURRENT_LIST_DIR}/cuda/versioned.cpp)
target_link_options(fake_version_there PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/cuda/there.map)
foreach(variant wanted there)
  set_target_properties(fake_version_${variant} PROPERTIES OUTPUT_NAME fake_versioned
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes/nvidia/version-${variant})
endforeach()
gpuprobe_fake_nvidia(version-there cuda libcuda.so.1 0 false)
target_link_libraries(fake_cuda_version-there PRIVATE fake_version_wanted)
target_link_options(fake_cuda_version-there PRIVATE -Wl,--no-as-needed)
target_compile_definitions(fake_cuda_version-there PRIVATE FAKE_VERSIONED)
set_target_properties(fake_cuda_version-there PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
add_dependencies(fake_cuda_version-there fake_version_there)
gpuprobe_fake_nvidia(crash-resolving cuda libcuda.so.1 0 false)
target_compile_definitions(fake_cuda_crash-resolving PRIVATE FAKE_RESOLVER)
