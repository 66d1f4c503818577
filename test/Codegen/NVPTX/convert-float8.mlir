// 8-bit floats are converted by cvt from sm_89 on, and by integer arithmetic on older architectures.
// RUN: tilewright compile %s --target=cuda --arch=sm_89 --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=ptx | FileCheck %s --check-prefix=BEFORE
// RUN: tilewright run %s --target=cuda --arch=sm_89 --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright run %s --target=cuda --arch=sm_80 --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: cvt.rn.f16x2.e4m3x2
// CHECK: cvt.rn.satfinite.e5m2x2.f32
// The instruction cvt saturates values that overflow. The code after cvt replaces saturated values by infinity.
// CHECK: setp.ge.f32
// BEFORE-NOT: e4m3x2
// BEFORE-NOT: e5m2x2
// BEFORE: st.global

// RESULT: result 0: f8E5M2[16, 64]
func.func @main(%x: tensor<16x64xf8E4M3FN>) -> tensor<16x64xf8E5M2> {
  %w = tw.cast %x : (tensor<16x64xf8E4M3FN>) -> tensor<16x64xf32>
  %n = tw.neg %w : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %y = tw.cast %n : (tensor<16x64xf32>) -> tensor<16x64xf8E5M2>
  return %y : tensor<16x64xf8E5M2>
}
