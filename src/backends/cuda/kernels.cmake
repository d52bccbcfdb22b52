foreach(module check base fp16 int8)
  gpuprobe_embed_preprocessed(backends cuda/cuda.h ${CMAKE_CURRENT_LIST_DIR}/kernels.ptx
                              cuda_module_${module} ${module})
endforeach()
