// Conversions of 8-bit floats are replaced by the instructions of sm_89 that convert pairs.
// RUN: tilewright-opt %s --tw-cuda-convert-float8 | FileCheck %s

// CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> i16
// CHECK: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"(%{{.*}}) : (i16) -> vector<2xf16>
// CHECK: arith.extf %{{.*}} : f16 to f32
func.func @kernel(%x: f32, %y: f8E4M3FN) -> (f8E4M3FN, f32) attributes {tw.kernel} {
  %0 = arith.truncf %x : f32 to f8E4M3FN
  %1 = arith.extf %y : f8E4M3FN to f32
  return %0, %1 : f8E4M3FN, f32
}
