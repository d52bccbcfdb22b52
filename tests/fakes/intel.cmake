# libze_loader.so.1 of our own, one folder per behaviour: fakes/intel/<variant>/. The definitions are
# explained in level_zero/fake_level_zero.cpp.
function(gpuprobe_fake_intel variant)
  set(target fake_level_zero_${variant})
  add_library(${target} MODULE ${CMAKE_CURRENT_LIST_DIR}/level_zero/fake_level_zero.cpp)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set(definitions FAKE_INIT=0 FAKE_DRIVERS=1 FAKE_OLD=0 FAKE_CRASH=0 FAKE_REFUSE_STATE=0)
  foreach(definition ${ARGN})
    string(REGEX REPLACE "=.*" "" name ${definition})
    list(FILTER definitions EXCLUDE REGEX "^${name}=")
    list(APPEND definitions ${definition})
  endforeach()
  target_compile_definitions(${target} PRIVATE ${definitions})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME libze_loader.so.1 SUFFIX ""
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes/intel/${variant})
endfunction()

gpuprobe_fake_intel(healthy)
gpuprobe_fake_intel(old FAKE_OLD=1)
gpuprobe_fake_intel(no-driver FAKE_INIT=0x78000001)
gpuprobe_fake_intel(no-device FAKE_DRIVERS=0)
gpuprobe_fake_intel(refused FAKE_INIT=0x70020000)
gpuprobe_fake_intel(crash FAKE_CRASH=1)
gpuprobe_fake_intel(unprivileged FAKE_REFUSE_STATE=1)
