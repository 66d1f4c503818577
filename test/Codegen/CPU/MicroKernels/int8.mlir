// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx-int8=true --canonicalize | FileCheck %s --check-prefix=AMX
// RUN: tilewright-opt %s --tw-cpu-expand-contractions --canonicalize | FileCheck %s --check-prefix=DOT
// RUN: tilewright-opt %s --tw-cpu-expand-contractions="lanes=8 registers=16" --canonicalize | FileCheck %s --check-prefix=AVX2

// AMX tiles have 16 rows of 64 bytes, and sums are i32. vpdpbusd reads unsigned bytes of A, so 128 is added to each
// byte of A (by an exclusive or), and 128 times the sum of B's column is subtracted at the end.
// AMX-LABEL: func private @fours
// AMX-COUNT-4: amx.tile_zero : !amx.tile<16x16xi32>
// AMX: scf.for %{{.*}} step %c64 iter_args(
// AMX-COUNT-2: amx.tile_load %arg0{{.*}} into !amx.tile<16x64xi8>
// AMX-COUNT-2: amx.tile_load %arg1{{.*}} into !amx.tile<16x64xi8>
// AMX-COUNT-4: amx.tile_muli
// AMX-COUNT-4: amx.tile_store %arg2
// DOT-LABEL: func private @fours
// DOT: %[[SHIFT:.*]] = arith.constant dense<-128> : vector<64xi8>
// DOT: vector.load %arg0{{.*}} vector<4xi8>
// DOT: arith.xori
// DOT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// DOT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[SHIFT]],
// DOT: arith.subi
// DOT: vector.store {{.*}} vector<16xi32>
// AVX2-LABEL: func private @fours
// AVX2: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
func.func private @fours(%a: memref<64x128xi8>, %b: memref<1x32x128xi8>, %c: memref<64x32xi32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 4 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x128xi8>, memref<1x32x128xi8>) outs(%c : memref<64x32xi32>)
  return
}

// Without VNNI, pairs of elements that are adjacent along k are widened to i16 for vpmaddwd.
// DOT-LABEL: func private @pairs
// DOT: arith.extsi {{.*}} vector<32xi8> to vector<32xi16>
// DOT: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// AVX2-LABEL: func private @pairs
// AVX2: arith.extsi {{.*}} vector<16xi8> to vector<16xi16>
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// AVX2: arith.addi {{.*}} vector<8xi32>
func.func private @pairs(%a: memref<64x128xi8>, %b: memref<1x64x64xi8>, %c: memref<64x32xi32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x128xi8>, memref<1x64x64xi8>) outs(%c : memref<64x32xi32>)
  return
}

// A sum of 33 products ends in the middle of a group of four elements along k. The last byte of A is loaded separately,
// and no byte after it is loaded.
// DOT-LABEL: func private @tail
// DOT: scf.for %{{.*}} = %c0 to %c8 step %c1 iter_args
// DOT: vector.load %arg0{{.*}} vector<4xi8>
// DOT: scf.yield
// DOT: %[[LAST:.*]] = memref.load %arg0[%c0, %c32]
// DOT: vector.from_elements %[[LAST]], %c0_i8, %c0_i8, %c0_i8 : vector<4xi8>
func.func private @tail(%a: memref<1x33xi8>, %b: memref<1x16x128xi8>, %c: memref<1x32xi32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 4 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<1x33xi8>, memref<1x16x128xi8>) outs(%c : memref<1x32xi32>)
  return
}

// If B is contiguous along its columns, packing interleaves four rows. The loads have no masks, because the panels have
// no padding. If B is contiguous along k, packing transposes square blocks of four-byte groups.
// DOT-LABEL: func private @packs
// DOT-COUNT-4: vector.load %arg0
// DOT-COUNT-3: vector.interleave
// DOT: vector.bitcast {{.*}} vector<64xi8> to vector<16xi32>
func.func private @packs(%a: memref<64x32xi8>, %p: memref<1x16x128xi8>, %b: memref<32x64xi8>, %r: memref<1x16x128xi8>) attributes {tw.kernel} {
  tw_tile.pack {group = 4 : i64, panel = 32 : i64, permutation = array<i64: 0, 1>} ins(%a : memref<64x32xi8>) outs(%p : memref<1x16x128xi8>)
  tw_tile.pack {group = 4 : i64, panel = 32 : i64, permutation = array<i64: 1, 0>} ins(%b : memref<32x64xi8>) outs(%r : memref<1x16x128xi8>)
  return
}

// B has 63 rows, so the last group of four rows contains three rows of B and a row of zeros.
// DOT-LABEL: func private @pack_remainder
// DOT-COUNT-4: vector.maskedload %arg0
func.func private @pack_remainder(%a: memref<63x32xi8>, %p: memref<1x16x128xi8>) attributes {tw.kernel} {
  tw_tile.pack {group = 4 : i64, panel = 32 : i64, permutation = array<i64: 0, 1>} ins(%a : memref<63x32xi8>) outs(%p : memref<1x16x128xi8>)
  return
}
