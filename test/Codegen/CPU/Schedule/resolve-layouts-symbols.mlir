// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts | FileCheck %s

// The function that packs a parameter has no symbolic size as an argument, so it is called once for all batch sizes.
// The kernel of the product has the symbolic batch size as an argument.
// CHECK: func.func @main(%[[N:.*]]: index
// CHECK: call @pack_0(%{{[a-z0-9]*}}, %{{[a-z0-9]*}}) {tw.once
// CHECK: call @matmul_0(%[[N]],
// CHECK: func.func private @pack_0(%{{.*}}: tensor<64x96xf32> {tw.sizes = affine_map<() -> (64, 96)>}
#rows = affine_map<()[s0] -> (s0, 64)>
#result = affine_map<()[s0] -> (s0, 96)>
func.func @main(%n: index {tw.symbol = "s0", tw.min = 2 : i64, tw.max = 64 : i64}, %x: tensor<?x64xf32, #rows>,
                %w: tensor<64x96xf32> {tw.static}) -> tensor<?x96xf32, #result> {
  %0 = tw.matmul %x, %w : (tensor<?x64xf32, #rows>, tensor<64x96xf32>) -> tensor<?x96xf32, #result>
  return %0 : tensor<?x96xf32, #result>
}
