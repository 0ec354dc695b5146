# Random modules and plans against the oracle, the simulator and the evaluator; a fixed set of seeds in ctest.
if(TARGET dlcc_oracle)
  add_executable(plan_fuzz ${CMAKE_CURRENT_LIST_DIR}/plan_fuzz.cpp)
  target_link_libraries(plan_fuzz PRIVATE dlcc_oracle dlcc_lowering dlcc_sim fmt::fmt)
  target_compile_definitions(plan_fuzz PRIVATE DLCC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME plan_fuzz COMMAND plan_fuzz --seed 1 --count 300 --seconds 50)
  set_tests_properties(plan_fuzz PROPERTIES LABELS fuzz TIMEOUT 300)
endif()
