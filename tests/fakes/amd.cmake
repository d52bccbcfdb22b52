# libhsa-runtime64.so.1 and libamdhip64.so.6 of our own, one folder per behaviour: fakes/amd/<variant>/.
# gpuprobe_fake_amd(VARIANT hsa|hip SONAME what-init-returns GPUs crashes-at-the-second)
function(gpuprobe_fake_amd variant library soname init gpus crash)
  set(target fake_${library}_${variant})
  add_library(${target} MODULE ${CMAKE_CURRENT_LIST_DIR}/hip/fake_${library}.cpp)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE FAKE_INIT=${init} FAKE_GPUS=${gpus} FAKE_CRASH=${crash})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${soname} SUFFIX ""
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes/amd/${variant})
endfunction()

gpuprobe_fake_amd(healthy hsa libhsa-runtime64.so.1 0 2 false)
gpuprobe_fake_amd(no-device hsa libhsa-runtime64.so.1 0 0 false)
gpuprobe_fake_amd(no-kfd hsa libhsa-runtime64.so.1 0x1008 0 false)
gpuprobe_fake_amd(refused hsa libhsa-runtime64.so.1 0x1000 0 false)
gpuprobe_fake_amd(crash hsa libhsa-runtime64.so.1 0 2 true)
gpuprobe_fake_amd(hip-only hip libamdhip64.so.6 0 0 false)
gpuprobe_fake_amd(hip-no-device hip libamdhip64.so.6 100 0 false)
