dlcc_test(NAME lowering_kernelize SOURCES unit/lowering_kernelize_test.cpp LIBS dlcc_lowering)
