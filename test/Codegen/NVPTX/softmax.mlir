// In a softmax of rows, each warp computes one row and reads each element once. Two butterfly reductions combine the
// lanes.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT
// RUN: not tilewright compile %s --target=cuda -o %t.so 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: env TILEWRIGHT_LIBCUDA=%t.none not tilewright run %s --target=cuda 2>&1 | FileCheck %s --check-prefix=DEVICE

// LIBRARY: target 'cuda' generates code for a device, which ahead-of-time libraries do not support yet; use --target=cpu, or --emit=ptx
// DEVICE: target 'cuda' cannot run: there is no NVIDIA driver here: {{.*}}; without a GPU, use device "emulated", which runs the kernels on the CPU

// TILED: tw.schedule = #tw_gpu.schedule<kind = rows, threads = 128, vector = 8, group = 32>

// CHECK: .entry softmax_7x512(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK-NOT: bar.sync
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-NOT: st.global

// RESULT: 1 operations, 1 kernels
// RESULT: bf16[7, 512] sum 6.99
func.func @main(%x: tensor<7x512xbf16>) -> tensor<7x512xbf16> {
  %s = tw.softmax %x {dim = 1 : i64} : tensor<7x512xbf16> -> tensor<7x512xbf16>
  return %s : tensor<7x512xbf16>
}
