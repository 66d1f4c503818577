# TILEWRIGHT_STATIC: libTilewright.so contains LLVM, MLIR and lld, for a wheel (docs/how-to/wheel.md).
#
# The linker reads every static archive, links the members that are referenced, and removes unreferenced functions. Archives of LLVM targets
# other than those in use are not passed to the linker, and the functions that would initialize these targets are replaced by empty ones.
# All symbols are hidden except those that the program and the Python module call. These have a separate symbol version, so they are
# not confused with those of another LLVM in the process.
#
# Identical functions are not folded. Debian's archives lack the address-significance tables, so --icf=safe folds no function, and --icf=all,
# which would save 4 MB of the wheel, may break code that compares addresses.
include_guard(GLOBAL)

set(TILEWRIGHT_MACHINES X86 NVPTX)
# Allow one link at a time, because a link holds all of LLVM in memory.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS tilewright_link=1)
set(CMAKE_JOB_POOL_LINK tilewright_link)

if(TILEWRIGHT_TESTS)
  message(FATAL_ERROR "TILEWRIGHT_STATIC builds what a wheel holds, and its symbols are hidden from tests: "
    "configure with -DTILEWRIGHT_TESTS=OFF.")
endif()
if(NOT EXISTS "${LLVM_LIBRARY_DIR}/libMLIRIR.a")
  message(FATAL_ERROR "TILEWRIGHT_STATIC needs LLVM's static archives, and ${LLVM_LIBRARY_DIR} has none.")
endif()

# tilewright_callers(target...): registers object libraries of the program and the Python module. The symbols that they call remain visible.
set_property(GLOBAL PROPERTY TILEWRIGHT_CALLERS "")
function(tilewright_callers)
  set_property(GLOBAL APPEND PROPERTY TILEWRIGHT_CALLERS ${ARGN})
endfunction()

# tilewright_link_llvm_statically(<library>): links LLVM. It must be called after every component and caller is declared.
function(tilewright_link_llvm_statically library)
  file(GLOB archives "${LLVM_LIBRARY_DIR}/libMLIR*.a" "${LLVM_LIBRARY_DIR}/libLLVM*.a")
  list(APPEND archives "${LLVM_LIBRARY_DIR}/liblldELF.a" "${LLVM_LIBRARY_DIR}/liblldCommon.a")
  set(absent "/* Machines of LLVM that this build leaves out: lld asks for each of them. */\n")
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

  # The archives refer to zlib (ZLIB::ZLIB, also static) and zstd. Only members that are not linked here need libz3, libxml2 and libedit.
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
