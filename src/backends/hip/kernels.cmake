gpuprobe_embed_text(backends hip/hip.h ${CMAKE_CURRENT_LIST_DIR}/preamble.hip hip_preamble)
