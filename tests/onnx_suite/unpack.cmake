# cmake -DARCHIVE=... -DTO=... -P unpack.cmake: unpacks the ONNX backend tests once.
# Without the archive it does nothing; the runner says so.
if(EXISTS ${ARCHIVE} AND NOT EXISTS ${TO}/complete)
  file(MAKE_DIRECTORY ${TO})
  execute_process(COMMAND ${CMAKE_COMMAND} -E tar xJf ${ARCHIVE} WORKING_DIRECTORY ${TO} COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${TO}/complete "")
endif()
