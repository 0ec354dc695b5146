dlcc_test(NAME hw_program SOURCES unit/hw_program_test.cpp LIBS dlcc_hw)
dlcc_test(NAME hw_dma_expand SOURCES unit/hw_dma_expand_test.cpp LIBS dlcc_hw)
dlcc_test(NAME hw_machine SOURCES unit/hw_machine_test.cpp unit/hw_machine_errors_test.cpp unit/hw_machine_cost_test.cpp LIBS dlcc_hw dlcc_base)
