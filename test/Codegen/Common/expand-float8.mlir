// This test checks that the pass replaces all conversions from and to 8-bit floats by ops on integers and wider floats.
// RUN: tilewright-opt %s --tw-expand-float8 | FileCheck %s
// RUN: tilewright-opt %s --tw-expand-float8 | FileCheck %s --check-prefix=LEFT

// LEFT-NOT: arith.extf {{.*}} f8
// LEFT-NOT: arith.truncf {{.*}} to f8

// An f8E5M2 has the bits of the upper byte of an f16.
// CHECK-LABEL: @from_e5m2
// CHECK: arith.bitcast %{{.*}} : vector<16xf8E5M2> to vector<16xi8>
// CHECK: arith.shli
// CHECK: arith.bitcast %{{.*}} : vector<16xi16> to vector<16xf16>
// CHECK-NEXT: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
func.func @from_e5m2(%x: vector<16xf8E5M2>) -> vector<16xf32> {
  %y = arith.extf %x : vector<16xf8E5M2> to vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: @from_e4m3
// CHECK: arith.cmpi eq
// CHECK: arith.select
// CHECK: arith.mulf
// CHECK: arith.extf %{{.*}} : f32 to f64
func.func @from_e4m3(%x: f8E4M3FN) -> f64 {
  %y = arith.extf %x : f8E4M3FN to f64
  return %y : f64
}

// Values whose rounded result would be greater than 448 (the maximum of f8E4M3FN) become 448.
// CHECK-LABEL: @to_e4m3
// CHECK: %[[LARGEST:.*]] = arith.constant dense<126> : vector<4x8xi32>
// CHECK: arith.minui %{{.*}}, %[[LARGEST]]
// CHECK: arith.trunci %{{.*}} : vector<4x8xi32> to vector<4x8xi8>
// CHECK-NEXT: arith.bitcast %{{.*}} : vector<4x8xi8> to vector<4x8xf8E4M3FN>
func.func @to_e4m3(%x: vector<4x8xf32>) -> vector<4x8xf8E4M3FN> {
  %y = arith.truncf %x : vector<4x8xf32> to vector<4x8xf8E4M3FN>
  return %y : vector<4x8xf8E4M3FN>
}

// Values whose rounded result would be greater than 57344 (the maximum of f8E5M2) become infinity. bf16 is widened to
// f32 first.
// CHECK-LABEL: @to_e5m2
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.constant 124 : i32
func.func @to_e5m2(%x: bf16) -> f8E5M2 {
  %y = arith.truncf %x : bf16 to f8E5M2
  return %y : f8E5M2
}

// A canonicalization folds the conversion of an integer to f32 and the rounding to f8 into one op. The pass splits this
// op into the two conversions.
// CHECK-LABEL: @from_integers
// CHECK: arith.sitofp %{{.*}} : vector<16xi64> to vector<16xf32>
// CHECK: arith.minui
// CHECK-LABEL: @to_integers
// CHECK: arith.fptosi %{{.*}} : f32 to i32
func.func @from_integers(%x: vector<16xi64>) -> vector<16xf8E4M3FN> {
  %y = arith.sitofp %x : vector<16xi64> to vector<16xf8E4M3FN>
  return %y : vector<16xf8E4M3FN>
}
func.func @to_integers(%x: f8E5M2) -> i32 {
  %y = arith.fptosi %x : f8E5M2 to i32
  return %y : i32
}
