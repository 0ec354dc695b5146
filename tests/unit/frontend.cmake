dlcc_test(NAME frontend_import SOURCES unit/frontend_import_test.cpp unit/frontend_import_infer_test.cpp
  LIBS dlcc_frontend onnx_proto protobuf)
dlcc_test(NAME frontend_rewrites SOURCES unit/frontend_rewrites_test.cpp LIBS dlcc_frontend onnx_proto protobuf)
foreach(test frontend_import_test frontend_rewrites_test)
  target_compile_definitions(${test} PRIVATE ONNX_ML=1 ONNX_NAMESPACE=onnx)
endforeach()
dlcc_test(NAME frontend_ops SOURCES unit/frontend_ops_test.cpp LIBS dlcc_frontend)
add_subdirectory(onnx_suite)
