dlcc_test(NAME base_core SOURCES unit/base_core_test.cpp unit/base_affine_test.cpp unit/base_files_test.cpp LIBS dlcc_base)
dlcc_test(NAME base_evaluate SOURCES unit/base_scalar_test.cpp unit/base_evaluate_test.cpp unit/base_verify_test.cpp LIBS dlcc_base)
dlcc_test(NAME base_expand SOURCES unit/base_expand_test.cpp LIBS dlcc_base)
dlcc_test(NAME base_text SOURCES unit/base_text_test.cpp unit/base_semantics_test.cpp LIBS dlcc_base)
