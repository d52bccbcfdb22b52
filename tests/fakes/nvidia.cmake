# libcuda.so.1 and libnvidia-ml.so.1 of our own, one folder per behaviour: fakes/nvidia/<variant>/.
# gpuprobe_fake_nvidia(VARIANT LIBRARY cuda|nvml INIT code [CRASH])
function(gpuprobe_fake_nvidia variant library soname init crash)
  set(target fake_${library}_${variant})
  add_library(${target} MODULE ${CMAKE_CURRENT_LIST_DIR}/${library}/fake_${library}.cpp)
  target_compile_definitions(${target} PRIVATE FAKE_INIT=${init} FAKE_CRASH=${crash})
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
