// flags: --fixed 8,3 --fixed fc1=10,4,AP_RND_CONV
// Two layers of a float model in fixed point; the weights are ports.
func.func @main(%x: tensor<4x16xf32> {tw.name = "x"}, %u: tensor<16x12xf32> {tw.name = "fc1.weight"}, %b: tensor<12xf32> {tw.name = "fc1.bias"},
                %v: tensor<12x8xf32> {tw.name = "fc2.weight"}) -> (tensor<4x8xf32> {tw.name = "y"}) {
  %m = tw.matmul %x, %u : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  %s = tw.add %m, %b : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
  %r = tw.relu %s : (tensor<4x12xf32>) -> tensor<4x12xf32>
  %y = tw.matmul %r, %v : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
