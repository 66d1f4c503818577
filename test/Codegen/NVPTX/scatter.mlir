// In a scatter of rows, a warp computes a row of the destination, and its lanes read 32 indices of the source at a time.
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=ptx | FileCheck %s

// TILED: @scatter_1({{.*}}tw.ops = "scatter", tw.schedule = #tw_gpu.schedule<kind = scatter, threads = 256, vector = 4>
// Each element has a separate index, so this scatter is not computed by rows.
// TILED: @scatter_3({{.*}}tw.ops = "scatter", tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 1>

// A row of 96 elements consists of 24 vectors of four elements, so only 24 lanes of the warp compute elements. A ballot
// of the warp finds the source rows whose index is the warp's row. The bits of the ballot are processed in ascending
// order.
// CHECK: .entry scatter_40x96
// CHECK: .reqntid 256
// CHECK: setp.gt.u64 {{.*}}, 23;
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.b64
// CHECK: vote.sync.ballot.b32
// CHECK: st.global.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-COUNT-4: add.{{.*}}f32
// CHECK: .entry scatter_40x96_2
// CHECK-NOT: vote.sync
func.func @main(%x: tensor<40x96xf32>, %i: tensor<50xi64>, %s: tensor<50x96xf32>, %each: tensor<50x96xi64>)
    -> (tensor<40x96xf32>, tensor<40x96xf32>) {
  %0 = tw.put add %x[%i], %s {dim = 0 : i64} : (tensor<40x96xf32>, tensor<50x96xf32>, tensor<50xi64>) -> tensor<40x96xf32>
  %1 = tw.scatter add %x[%each], %s {dim = 0 : i64} : (tensor<40x96xf32>, tensor<50x96xi64>, tensor<50x96xf32>) -> tensor<40x96xf32>
  return %0, %1 : tensor<40x96xf32>, tensor<40x96xf32>
}
