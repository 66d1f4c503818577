// The printed PTX has the user's source lines, and ptx-check reports errors with these lines.

// RUN: tilewright compile %s --target=cuda --emit=ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: sed -e 's/st.global.v4.b32\(.*\)\[%%rd\([0-9]*\)\]/st.global.v4.b32\1[%%rd\2+8192]/' %t.ptx > %t.wrong.ptx
// RUN: echo '{"grid": 4, "block": 256, "buffers": {"x": {"dtype": "f32", "shape": [64, 64], "fill": "iota"}, "y": {"dtype": "f32", "shape": [64, 64]}}, "arguments": [{"buffer": "x"}, {"buffer": "y"}]}' > %t.json
// RUN: ptx-check %t.ptx --args %t.json | FileCheck %s --check-prefix=RIGHT
// RUN: not ptx-check %t.wrong.ptx --args %t.json | FileCheck %s --check-prefix=WRONG

// The PTX has only line directives. Debug information would prevent ptxas from optimizing.
// CHECK: .target sm_80{{$}}
// CHECK: .loc 1 14 0
// CHECK: ld.global
// CHECK: .loc 1 12 0
// CHECK-NEXT: add.{{(rn.)?}}f32
// CHECK: .loc 1 14 0
// CHECK: mul.{{(rn.)?}}f32
// CHECK-NOT: .debug_info
// CHECK: .file 1 "layer.py"

// RIGHT: 0 findings
// WRONG: out-of-bounds in add_mul_64x64: write of 16 bytes
// WRONG-NEXT: st.global.v4.b32 {{.*}} at layer.py:14
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tw.add %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("layer.py":12:0)
  %y = tw.mul %e, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("layer.py":14:0)
  return %y : tensor<64x64xf32>
}
