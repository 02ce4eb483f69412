# What every target of the tree shares: language, warnings, sanitizers, and the four functions that
# make a folder a library, a unit test, a fuzz target and a benchmark.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

option(AGENTD_TESTS "Build the unit tests" ON)
set(AGENTD_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
option(AGENTD_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(AGENTD_BENCH "Build the micro-benchmarks" OFF)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Leaving members of a designated initialiser at their defaults is what it is for.
  add_compile_options(-Wthread-safety -Wno-missing-designated-field-initializers)
endif()
if(AGENTD_SANITIZE)
  add_compile_options(-fsanitize=${AGENTD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${AGENTD_SANITIZE})
endif()
if(AGENTD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_custom_target(fuzz_all)
endif()

find_program(AGENTD_MOLD mold)
if(AGENTD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(AGENTD_CCACHE ccache)
if(AGENTD_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${AGENTD_CCACHE})
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)

# agentd_library(<folder> USES <folders...> LINKS <libraries...> SOURCES <files...>)
# makes agentd_<folder> of the files of src/<folder>. USES is the whole list of folders that its
# sources may include from; scripts/check_includes.py holds the tree to it.
function(agentd_library folder)
  cmake_parse_arguments(ARG "" "" "USES;LINKS;SOURCES" ${ARGN})
  add_library(agentd_${folder} STATIC ${ARG_SOURCES})
  target_include_directories(agentd_${folder} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(use IN LISTS ARG_USES)
    target_link_libraries(agentd_${folder} PUBLIC agentd_${use})
  endforeach()
  target_link_libraries(agentd_${folder} PUBLIC ${ARG_LINKS})
endfunction()

# agentd_test(<folder> LINKS <libraries...> SOURCES <files...>) makes the one test program of a folder.
function(agentd_test folder)
  if(NOT AGENTD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINKS;SOURCES" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${folder}_test ${ARG_SOURCES})
  target_link_libraries(${folder}_test PRIVATE agentd_${folder} ${ARG_LINKS} GTest::gtest_main)
  add_test(NAME ${folder} COMMAND ${folder}_test)
  # Where no daemon of the developer's own is found.
  set_tests_properties(${folder} PROPERTIES ENVIRONMENT "XDG_RUNTIME_DIR=${CMAKE_BINARY_DIR}/run")
endfunction()

# agentd_fuzz(<name> USES <folders...> SOURCES <files...>) makes a libFuzzer target in the fuzz preset, and elsewhere a
# test that runs the same code once over each file of fuzz/corpus/<name>.
function(agentd_fuzz name)
  cmake_parse_arguments(ARG "" "" "USES;SOURCES" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND agentd_)
  if(AGENTD_FUZZ)
    add_executable(fuzz_${name} ${ARG_SOURCES})
    target_link_libraries(fuzz_${name} PRIVATE ${ARG_USES})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_all fuzz_${name})
  elseif(AGENTD_TESTS)
    add_executable(corpus_${name} ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/fuzz/corpus_test.cc)
    target_link_libraries(corpus_${name} PRIVATE ${ARG_USES})
    add_test(NAME corpus_${name} COMMAND corpus_${name} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  endif()
endfunction()

# agentd_bench(<folder> SOURCES <files...>) makes the micro-benchmark of a folder when AGENTD_BENCH is on.
function(agentd_bench folder)
  if(NOT AGENTD_BENCH)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  find_package(benchmark REQUIRED)
  add_executable(${folder}_bench ${ARG_SOURCES})
  target_link_libraries(${folder}_bench PRIVATE agentd_${folder} benchmark::benchmark_main)
endfunction()
