// In a scatter of rows, a warp computes a row of the destination, and its lanes read 32 indices of the source at a time.
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=ptx | FileCheck %s

// TILED: @scatter_1({{.*}}tw.ops = "scatter", tw.schedule = #tw_gpu.schedule<kind = scatter, threads = 256, vector = 4>
// Each element has a separate index, so this scatter is not computed by rows.
// TILED: @scatter_3({{.*}}tw.ops = "scatter", tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 1>

// TILED: @scatter_5({{.*}}kind = scatter

// A row of 96 elements consists of 24 vectors of four elements, so only 24 lanes of the warp compute elements. Each lane
// first tests several indices. If one of them is the warp's row, ballots find the source rows, and the bits of a ballot
// are processed in ascending order.
// CHECK: .entry scatter_40x96
// CHECK: .reqntid 256
// CHECK: setp.lt.u64 {{.*}}, 24;
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.b64
// CHECK: ld.global.nc.b64
// CHECK: vote.sync.ballot.b32
// CHECK: vote.sync.ballot.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-COUNT-4: add.{{.*}}f32
// CHECK: st.global.v4.b32
// CHECK: .entry scatter_40x96_2
// CHECK-NOT: vote.sync
// Many source rows: each thread reads four indices without a branch, and a barrier tells all warps whether an index is
// one of the block's rows.
// CHECK: .entry scatter_4000x96
// CHECK-COUNT-4: ld.global.nc.b64
// CHECK: bar.red.or.pred
// CHECK: st.shared.b32
// CHECK: bar{{.*}}.sync
// CHECK: ld.shared.b32
func.func @main(%x: tensor<40x96xf32>, %i: tensor<50xi64>, %s: tensor<50x96xf32>, %each: tensor<50x96xi64>,
                %y: tensor<4000x96xf32>, %j: tensor<3072xi64>, %t: tensor<3072x96xf32>)
    -> (tensor<40x96xf32>, tensor<40x96xf32>, tensor<4000x96xf32>) {
  %0 = tw.put add %x[%i], %s {dim = 0 : i64} : (tensor<40x96xf32>, tensor<50x96xf32>, tensor<50xi64>) -> tensor<40x96xf32>
  %1 = tw.scatter add %x[%each], %s {dim = 0 : i64} : (tensor<40x96xf32>, tensor<50x96xi64>, tensor<50x96xf32>) -> tensor<40x96xf32>
  %2 = tw.put add %y[%j], %t {dim = 0 : i64} : (tensor<4000x96xf32>, tensor<3072x96xf32>, tensor<3072xi64>) -> tensor<4000x96xf32>
  return %0, %1, %2 : tensor<40x96xf32>, tensor<40x96xf32>, tensor<4000x96xf32>
}
