# libcuda.so.1 and libnvidia-ml.so.1 of our own, one folder per behaviour: fakes/nvidia/<variant>/.
# gpuprobe_fake_nvidia(VARIANT cuda|nvml SONAME what-init-returns crashes-in-a-query [fault-of-fakes/compute.h])
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
# Those that answer every question, and fail at computing. The folders are named for the faults.
foreach(fault WrongNumbers NeverEnds NoMemory LostHalfway Crash BuildFails NoCompiler WrongRates)
  gpuprobe_fake_nvidia(${fault} cuda libcuda.so.1 0 false ${fault})
endforeach()
# A GPU that others have filled.
gpuprobe_fake_nvidia(full cuda libcuda.so.1 0 false)
gpuprobe_fake_nvidia(full nvml libnvidia-ml.so.1 0 false NoMemory)
