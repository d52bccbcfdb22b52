gpuprobe_embed_text(backends opencl/opencl.h ${CMAKE_CURRENT_LIST_DIR}/kernels.cl opencl_kernels)
