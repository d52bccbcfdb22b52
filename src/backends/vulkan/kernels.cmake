file(GLOB shaders CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/shaders/*.comp)
gpuprobe_embed_shaders(backends ${shaders})
