# Writes a linker version script, which exports the symbols of Tilewright, MLIR and LLVM that OBJECTS reference, with
# the symbol version NODE.
#
#   cmake -DNM=nm -DOBJECTS=a.o;b.o -DNODE=TILEWRIGHT_0.1.0 -DOUTPUT=exported.map -P WriteVersionScript.cmake
execute_process(COMMAND "${NM}" --undefined-only --format=just-symbols ${OBJECTS}
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${listing}")
# In a mangled name, the length of each namespace precedes the namespace.
list(FILTER names INCLUDE REGEX "^_Z.*(10tilewright|4mlir|4llvm)")
list(REMOVE_DUPLICATES names)
list(SORT names)
list(LENGTH names count)
if(count EQUAL 0)
  message(FATAL_ERROR "${OBJECTS} call nothing of libTilewright")
endif()
list(JOIN names ";\n    " text)
file(WRITE "${OUTPUT}" "${NODE} {\n  global:\n    ${text};\n  local:\n    *;\n};\n")
