# Debian has the headers of Level Zero only for some processors.
if(GPUPROBE_LEVEL_ZERO_HEADERS)
  foreach(module check memory fp32 fp16 int8)
    gpuprobe_embed_assembly(backends level_zero/level_zero.h ${CMAKE_CURRENT_LIST_DIR}/kernels.spvasm
                            level_zero_module_${module} ${module})
  endforeach()
endif()
