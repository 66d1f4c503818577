# Each folder of lib/ and the folder dialects/ are compiled into object libraries, which are linked into libTilewright.so.
#
#   tilewright_library(<name> [PLAIN] [DEPENDS target...] [EXCEPT folder...])
#
# This function adds the object library tw_<name>. The library contains every .cpp file below the folder of the caller, except the files in
# the EXCEPT folders, which are separate libraries. A PLAIN library includes no MLIR header and can therefore be built with sanitizers.
# Libraries without PLAIN share one precompiled header.
include_guard(GLOBAL)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

set_property(GLOBAL PROPERTY TILEWRIGHT_LIBRARIES "")

add_library(tilewright_flags INTERFACE)
target_include_directories(tilewright_flags INTERFACE
  "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}" "${PROJECT_BINARY_DIR}/include")
target_compile_options(tilewright_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(tilewright_flags INTERFACE -fpch-instantiate-templates)
endif()

add_library(tilewright_mlir_flags INTERFACE)
target_link_libraries(tilewright_mlir_flags INTERFACE tilewright_flags)
target_include_directories(tilewright_mlir_flags SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

function(tilewright_library name)
  cmake_parse_arguments(LIBRARY "PLAIN" "" "DEPENDS;EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(folder ${LIBRARY_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  if(NOT sources)
    return()
  endif()
  set(target "tw_${name}")
  add_library(${target} OBJECT ${sources})
  if(LIBRARY_PLAIN)
    target_link_libraries(${target} PUBLIC tilewright_flags)
    if(TILEWRIGHT_SANITIZE)
      target_compile_options(${target} PUBLIC -fsanitize=${TILEWRIGHT_SANITIZE} -fno-omit-frame-pointer)
      target_link_options(${target} PUBLIC -fsanitize=${TILEWRIGHT_SANITIZE})
    endif()
  else()
    target_link_libraries(${target} PUBLIC tilewright_mlir_flags)
    add_dependencies(${target} tilewright_tablegen)
    tilewright_use_pch(${target})
  endif()
  if(LIBRARY_DEPENDS)
    add_dependencies(${target} ${LIBRARY_DEPENDS})
  endif()
  tilewright_unity(${target})
  set_property(GLOBAL APPEND PROPERTY TILEWRIGHT_LIBRARIES ${target})
endfunction()

# tilewright_use_pch(<target>): compiles the target with the shared precompiled header. Without the header, a file that includes
# tilewright/Passes.h takes 8 s longer, because it parses the headers of all dialects.
function(tilewright_use_pch target)
  target_precompile_headers(${target} REUSE_FROM tilewright_pch)
endfunction()

# tilewright_unity(<target> [files per unit]): compiles several files of the target as one, if TILEWRIGHT_UNITY is set.
function(tilewright_unity target)
  set(files 6)
  if(ARGC GREATER 1)
    set(files ${ARGV1})
  endif()
  if(TILEWRIGHT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# Adds the precompiled header cmake/pch.h, which all libraries that use MLIR share.
function(tilewright_shared_pch)
  file(WRITE "${PROJECT_BINARY_DIR}/pch.cpp" "// a precompiled header needs a target with a source file\n")
  add_library(tilewright_pch OBJECT "${PROJECT_BINARY_DIR}/pch.cpp")
  target_link_libraries(tilewright_pch PUBLIC tilewright_mlir_flags)
  target_precompile_headers(tilewright_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/pch.h")
endfunction()
