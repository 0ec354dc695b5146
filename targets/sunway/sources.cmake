# The Sunway emitter, and the runtime headers as text inside the compiler.
set(DLCC_SUNWAY_RUNTIME ${CMAKE_CURRENT_LIST_DIR}/runtime)
foreach(name dlcc_scalar dlcc_slave)
  file(READ ${DLCC_SUNWAY_RUNTIME}/${name}.h DLCC_${name}_TEXT)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${DLCC_SUNWAY_RUNTIME}/${name}.h)
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/runtime_files.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/sunway_runtime_files.cpp @ONLY)
target_sources(dlcc_targets PRIVATE
  c_kernel.cpp
  c_printer.cpp
  sunway/emit.cpp
  sunway/group_code.cpp
  sunway/group_vars.cpp
  ${CMAKE_CURRENT_BINARY_DIR}/sunway_runtime_files.cpp
)
