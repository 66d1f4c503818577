# Writes the header OUTPUT. For each kind of kernel, the header defines a hash of the compiler's sources that generate such kernels. A
# tuning record is valid only for the hash with which it was measured.
#
#   cmake -DSOURCE=<repository> -DLLVM=<version> -DOUTPUT=<file> -P WriteEpochs.cmake
#
#   TILEWRIGHT_EPOCH_CPU_PRODUCTS  kernels of the target cpu with products, convolutions or attention
#   TILEWRIGHT_EPOCH_CPU_ROWS      all other kernels of the target cpu
#   TILEWRIGHT_EPOCH_ALL           kernels of the other targets
function(epoch variable)
  set(text "${LLVM}")
  foreach(pattern ${ARGN})
    file(GLOB_RECURSE files "${SOURCE}/${pattern}")
    list(SORT files)
    foreach(file ${files})
      file(SHA256 "${file}" hash)
      file(RELATIVE_PATH name "${SOURCE}" "${file}")
      string(APPEND text "${name} ${hash}\n")
    endforeach()
  endforeach()
  string(SHA256 hash "${text}")
  string(SUBSTRING "${hash}" 0 12 hash)
  set(${variable} "${hash}" PARENT_SCOPE)
endfunction()

function(sources variable)
  set(patterns "")
  foreach(folder ${ARGN})
    list(APPEND patterns "lib/Codegen/${folder}/*.cpp" "lib/Codegen/${folder}/*.h")
  endforeach()
  set(${variable} "${patterns}" PARENT_SCOPE)
endfunction()

sources(rows Common CPU/Schedule CPU/Vectorize)
sources(products Common CPU)
epoch(cpu_rows ${rows})
epoch(cpu_products ${products})
epoch(all "lib/Codegen/*.cpp" "lib/Codegen/*.h")
set(content "// Written by cmake/WriteEpochs.cmake.
#define TILEWRIGHT_EPOCH_CPU_ROWS \"${cpu_rows}\"
#define TILEWRIGHT_EPOCH_CPU_PRODUCTS \"${cpu_products}\"
#define TILEWRIGHT_EPOCH_ALL \"${all}\"
")
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "${content}" @ONLY)
