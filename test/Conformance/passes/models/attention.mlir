// A matrix product with GELU and a softmax, with a symbolic batch size.
func.func @main(%s0: index {tw.symbol = "s0", tw.min = 1 : index, tw.max = 64 : index},
                %x: tensor<?x16x32xf32, affine_map<()[s0] -> (s0, 16, 32)>>, %w: tensor<32x32xf32> {tw.static})
    -> tensor<?x16x32xf32, affine_map<()[s0] -> (s0, 16, 32)>> {
  %f = tw.reshape %x : tensor<?x16x32xf32, affine_map<()[s0] -> (s0, 16, 32)>> -> tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>>
  %p = tw.matmul %f, %w : (tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>>, tensor<32x32xf32>) -> tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>>
  %e = tw.gelu %p : (tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>>) -> tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>>
  %s = tw.softmax %e {dim = 1 : i64} : tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>> -> tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>>
  %r = tw.reshape %s : tensor<?x32xf32, affine_map<()[s0] -> (s0 * 16, 32)>> -> tensor<?x16x32xf32, affine_map<()[s0] -> (s0, 16, 32)>>
  return %r : tensor<?x16x32xf32, affine_map<()[s0] -> (s0, 16, 32)>>
}
