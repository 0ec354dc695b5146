dlcc_test(NAME targets_x86 SOURCES unit/targets_x86_test.cpp unit/targets_x86_dma_test.cpp LIBS dlcc_targets dlcc_base dlcc_hw ${CMAKE_DL_LIBS})
dlcc_test(NAME targets_sunway SOURCES unit/targets_sunway_test.cpp unit/targets_sunway_shim_test.cpp LIBS dlcc_targets dlcc_base dlcc_hw ${CMAKE_DL_LIBS})
