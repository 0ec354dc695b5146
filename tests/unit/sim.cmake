dlcc_test(NAME sim_compute SOURCES unit/sim_compute_test.cpp LIBS dlcc_sim nlohmann_json::nlohmann_json)
dlcc_test(NAME sim_values SOURCES unit/sim_values_test.cpp LIBS dlcc_sim nlohmann_json::nlohmann_json)
dlcc_test(NAME sim_timing SOURCES unit/sim_timing_test.cpp LIBS dlcc_sim nlohmann_json::nlohmann_json)
