# Each build generates the files that describe org.gpuprobe to other programs from the descriptions of the records: the
# schema of the report, the types in the packages for Go, Node, Python and Rust, and the types of client.h.

gpuprobe_program(gpuprobe-interface-types calls/interface_types_main.cpp gpuprobe_calls)
set(folder ${PROJECT_BINARY_DIR}/generated/interface)
file(MAKE_DIRECTORY ${folder})
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
file(GLOB makers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/interface-files ${PROJECT_SOURCE_DIR}/tools/interface_languages/*.py)
add_custom_command(
  OUTPUT ${folder}/report.schema.json ${folder}/interface.py ${folder}/interface.d.ts ${folder}/interface.go ${folder}/interface.rs
         ${folder}/gpuprobe/interface.hpp
  COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:gpuprobe-interface-types> > ${folder}/types.json
  COMMAND ${PROJECT_SOURCE_DIR}/tools/interface-files ${folder}/types.json ${CMAKE_CURRENT_SOURCE_DIR} ${folder}
  DEPENDS gpuprobe-interface-types ${headers} ${makers}
  VERBATIM)

# The packages as they are released: the sources together with the generated types.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/*.py ${CMAKE_CURRENT_SOURCE_DIR}/python/*.toml
                                            ${CMAKE_CURRENT_SOURCE_DIR}/python/*.md ${CMAKE_CURRENT_SOURCE_DIR}/node/*.*
                                            ${CMAKE_CURRENT_SOURCE_DIR}/go/*.* ${CMAKE_CURRENT_SOURCE_DIR}/rust/*.*)
set(packages ${PROJECT_BINARY_DIR}/generated/packages)
set(copies)
foreach(language go node python rust)
  list(APPEND copies COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_CURRENT_SOURCE_DIR}/${language} ${packages}/${language}
                     COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/LICENSES ${packages}/${language}/LICENSES)
endforeach()
add_custom_command(
  OUTPUT ${packages}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${packages}
  ${copies}
  COMMAND ${CMAKE_COMMAND} -E copy ${folder}/interface.go ${packages}/go
  COMMAND ${CMAKE_COMMAND} -E copy ${folder}/interface.rs ${packages}/rust/src
  COMMAND ${CMAKE_COMMAND} -E copy ${folder}/interface.py ${packages}/python/gpuprobe
  COMMAND ${CMAKE_COMMAND} -E copy ${folder}/interface.d.ts ${packages}/node
  COMMAND ${CMAKE_COMMAND} -E touch ${packages}/made
  DEPENDS ${sources} ${folder}/interface.py
  VERBATIM)
add_custom_target(interface-files ALL DEPENDS ${packages}/made ${folder}/report.schema.json)
