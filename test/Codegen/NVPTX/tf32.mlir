// Products of f32 use tensor cores only if the option arch allows rounding operands to tf32. Kernels with mma support
// all layouts; if an operand is not contiguous along k, they load its elements one by one. wgmma requires that both
// operands are contiguous along k.
// RUN: tilewright compile %s --target=cuda --arch=sm_80+tf32 --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a+tf32 --emit=ptx | FileCheck %s --check-prefix=HOPPER
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s --check-prefix=EXACT
// RUN: tilewright run %s --target=cuda --arch=sm_80+tf32 --device=emulated | FileCheck %s --check-prefix=RESULT
// RUN: tilewright run %s --target=cuda --arch=sm_90a+tf32 --device=emulated | FileCheck %s --check-prefix=RESULT
// RUN: not tilewright compile %s --target=cuda --arch=sm_75+tf32 --emit=ptx 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK: .target sm_80
// CHECK: .entry matmul_100x136x72(
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ld.shared.b32
// CHECK: cvt.rna.tf32.f32
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

// HOPPER: .target sm_90a
// HOPPER: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// HOPPER: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k8.f32.tf32.tf32

// EXACT-NOT: f32.tf32

// RESULT: 3 operations, 2 kernels

// REFUSED: target cuda has no arch 'sm_75+tf32'; there are sm_80, sm_86, sm_89, sm_90a, each with the suffix '+tf32'
func.func @main(%x: tensor<100x72xf32>, %w: tensor<72x136xf32>, %v: tensor<64x72xf32> {tw.static}) -> (tensor<100x136xf32>, tensor<100x64xf32>) {
  %h = tw.matmul %x, %w : (tensor<100x72xf32>, tensor<72x136xf32>) -> tensor<100x136xf32>
  %vt = tw.permute %v {permutation = array<i64: 1, 0>} : tensor<64x72xf32> -> tensor<72x64xf32>
  %g = tw.matmul %x, %vt : (tensor<100x72xf32>, tensor<72x64xf32>) -> tensor<100x64xf32>
  return %h, %g : tensor<100x136xf32>, tensor<100x64xf32>
}
