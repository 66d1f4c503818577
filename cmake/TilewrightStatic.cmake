# TILEWRIGHT_STATIC: libTilewright.so contains LLVM, MLIR and lld, for a wheel (docs/how-to/wheel.md).
#
# The linker reads all static archives of LLVM and MLIR, links the members that are referenced, and removes unreferenced functions. The only
# LLVM targets that are linked are those of TILEWRIGHT_MACHINES. The initialization functions of all other LLVM targets are replaced by
# empty functions. Only symbols that the program `tilewright` and the Python module use are exported. The exported symbols have a symbol
# version, so that the dynamic linker does not bind them to another LLVM in the process.
#
# Identical code folding is off. Debian's archives lack address-significance tables, so --icf=safe folds no function. --icf=all would save
# 4 MB of the wheel, but may break code that compares function addresses.
include_guard(GLOBAL)

set(TILEWRIGHT_MACHINES X86 NVPTX)
# Run one link job at a time, because each job loads all of LLVM into memory.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS tilewright_link=1)
set(CMAKE_JOB_POOL_LINK tilewright_link)

if(TILEWRIGHT_TESTS)
  message(FATAL_ERROR "TILEWRIGHT_STATIC builds what a wheel holds, and its symbols are hidden from tests: "
    "configure with -DTILEWRIGHT_TESTS=OFF.")
endif()
if(NOT EXISTS "${LLVM_LIBRARY_DIR}/libMLIRIR.a")
  message(FATAL_ERROR "TILEWRIGHT_STATIC needs LLVM's static archives, and ${LLVM_LIBRARY_DIR} has none.")
endif()

# tilewright_callers(target...): registers the object libraries of the program and of the Python module. Symbols that these libraries use
# are exported from libTilewright.
set_property(GLOBAL PROPERTY TILEWRIGHT_CALLERS "")
function(tilewright_callers)
  set_property(GLOBAL APPEND PROPERTY TILEWRIGHT_CALLERS ${ARGN})
endfunction()

# tilewright_link_llvm_statically(<library>): links LLVM into the library. It must be called after all libraries and callers are declared.
function(tilewright_link_llvm_statically library)
  file(GLOB archives "${LLVM_LIBRARY_DIR}/libMLIR*.a" "${LLVM_LIBRARY_DIR}/libLLVM*.a")
  list(APPEND archives "${LLVM_LIBRARY_DIR}/liblldELF.a" "${LLVM_LIBRARY_DIR}/liblldCommon.a")
  set(absent "/* Empty initialization functions of the LLVM targets that are not linked. lld calls them. */\n")
  foreach(machine ${LLVM_TARGETS_TO_BUILD})
    if(NOT machine IN_LIST TILEWRIGHT_MACHINES)
      list(FILTER archives EXCLUDE REGEX "/libLLVM${machine}[A-Z]")
      foreach(part Target TargetInfo TargetMC AsmPrinter AsmParser Disassembler)
        string(APPEND absent "void LLVMInitialize${machine}${part}(void) {}\n")
      endforeach()
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/absent_machines.c" CONTENT "${absent}" @ONLY)
  target_sources(${library} PRIVATE "${PROJECT_BINARY_DIR}/absent_machines.c" "${PROJECT_SOURCE_DIR}/cmake/StandIns.c")

  # LLVM's archives need zlib (ZLIB::ZLIB, also static) and zstd. The members that need libz3, libxml2 and libedit are not linked.
  find_library(TILEWRIGHT_ZSTD_ARCHIVE libzstd.a REQUIRED)
  target_link_libraries(${library} PRIVATE ${archives} "${TILEWRIGHT_ZSTD_ARCHIVE}")

  get_property(callers GLOBAL PROPERTY TILEWRIGHT_CALLERS)
  set(objects "")
  foreach(caller ${callers})
    list(APPEND objects $<TARGET_OBJECTS:${caller}>)
  endforeach()
  set(script "${PROJECT_BINARY_DIR}/exported_symbols.map")
  set(writer "${PROJECT_SOURCE_DIR}/cmake/WriteVersionScript.cmake")
  add_custom_command(OUTPUT "${script}"
    COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DOBJECTS=${objects}" "-DNODE=TILEWRIGHT_${PROJECT_VERSION}"
      "-DOUTPUT=${script}" -P "${writer}"
    DEPENDS ${objects} "${writer}" VERBATIM COMMENT "Listing the symbols that stay visible")
  add_custom_target(tilewright_exported_symbols DEPENDS "${script}")
  add_dependencies(${library} tilewright_exported_symbols)
  set_property(TARGET ${library} APPEND PROPERTY LINK_DEPENDS "${script}")
  target_link_options(${library} PRIVATE "LINKER:--version-script=${script}" LINKER:--undefined-version
    LINKER:--gc-sections LINKER:--strip-all LINKER:-Bsymbolic LINKER:-O2 LINKER:--no-undefined)
endfunction()
