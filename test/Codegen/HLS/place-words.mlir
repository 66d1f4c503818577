// RUN: tilewright-opt %s --tw-hls-place-memories="budget=bram=300" | FileCheck %s
// RUN: tilewright-opt %s --tw-hls-place-memories="budget=bram=300,uram=1" | FileCheck %s --check-prefix=BLOCKS
// RUN: tilewright-opt %s --tw-hls-place-memories | FileCheck %s --check-prefix=NONE
// %w and %x are arrays of 262144 bytes in 32 banks. Both are double-buffered. One buffer takes 128 block memories in
// banks and 116 in words. It takes 64 UltraRAMs in banks, but 8 in words. The first nest of @sum reads all 32 elements
// of a word of %w. It also reads 32 elements of %x that start at any index, and may belong to two words. Therefore %w
// is stored in words of UltraRAM, and %x remains in banks. Words also save block memories. One buffer of %n has 16
// banks of 256 bytes, which take 16 block memories in banks and 4 in words. Its consumer reads one byte per cycle,
// which is selected from a word.

!dram = memref<8192x32xi8, #tw_hls.partition<none, none>, #tw_hls.memory<dram>>
!rows = memref<8192x32xi8, #tw_hls.partition<none, complete>, #tw_hls.memory<bram>>
!line = memref<262144xi8, #tw_hls.partition<cyclic 32>, #tw_hls.memory<bram>>
!narrow = memref<4096xi8, #tw_hls.partition<cyclic 16>, #tw_hls.memory<bram>>
!out = memref<8160x32xi8, #tw_hls.partition<none, none>, #tw_hls.memory<dram>>

// NONE-NOT: words
// BLOCKS: @load
// BLOCKS-NOT: uram

// CHECK-LABEL: func.func private @load
// CHECK-SAME: %arg1: memref<8192x32xi8, #tw_hls.partition<none, complete>, #tw_hls.memory<uram_words>>
// CHECK-SAME: %arg2: memref<262144xi8, #tw_hls.partition<cyclic 32>, #tw_hls.memory<bram>>
// CHECK-SAME: %arg3: memref<4096xi8, #tw_hls.partition<cyclic 16>, #tw_hls.memory<bram_words>>
func.func private @load(%from: !dram, %w: !rows, %x: !line, %n: !narrow) {
  affine.for %i = 0 to 8192 {
    affine.for %u = 0 to 32 {
      %v = affine.load %from[%i, %u] : !dram
      affine.store %v, %w[%i, %u] : !rows
      affine.store %v, %x[%i * 32 + %u] : !line
    } {tw_hls.loop = #tw_hls.loop<label = "load_u", unroll = 32>}
  } {tw_hls.loop = #tw_hls.loop<label = "load_i", ii = 1>}
  affine.for %i = 0 to 256 {
    affine.for %u = 0 to 16 {
      %v = affine.load %from[%i, %u] : !dram
      affine.store %v, %n[%i * 16 + %u] : !narrow
    } {tw_hls.loop = #tw_hls.loop<label = "load_v", unroll = 16>}
  } {tw_hls.loop = #tw_hls.loop<label = "load_j", ii = 1>}
  return
}
func.func private @sum(%w: !rows, %x: !line, %n: !narrow, %to: !out) {
  affine.for %i = 0 to 8160 {
    affine.for %u = 0 to 32 {
      %a = affine.load %w[%i, %u] : !rows
      %b = affine.load %x[%i + %u] : !line
      %d = arith.addi %a, %b : i8
      affine.store %d, %to[%i, %u] : !out
    } {tw_hls.loop = #tw_hls.loop<label = "sum_u", unroll = 32>}
  } {tw_hls.loop = #tw_hls.loop<label = "sum_i", ii = 1>}
  affine.for %i = 0 to 4096 {
    %c = affine.load %n[%i] : !narrow
    affine.store %c, %to[%i, 0] : !out
  } {tw_hls.loop = #tw_hls.loop<label = "sum_j", ii = 1>}
  return
}
// CHECK-LABEL: func.func @model
func.func @model(%x: !dram, %y: !out) attributes {tw_hls.top} {
  tw_hls.dataflow {
    %w = tw_hls.buffer "w" : !rows
    %l = tw_hls.buffer "l" : !line
    %n = tw_hls.buffer "n" : !narrow
    tw_hls.task @load reads(%x) writes(%w, %l, %n) : (!dram) -> (!rows, !line, !narrow)
    tw_hls.task @sum reads(%w, %l, %n) writes(%y) : (!rows, !line, !narrow) -> !out
  }
  return
}
