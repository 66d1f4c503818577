// A matrix is combined elementwise with its transpose.
func.func @main(%x: tensor<12x12xi32> {tw.name = "x"}) -> (tensor<12x12xi32> {tw.name = "y"}) {
  %t = tw.permute %x {permutation = array<i64: 1, 0>} : tensor<12x12xi32> -> tensor<12x12xi32>
  %y = tw.add %x, %t : (tensor<12x12xi32>, tensor<12x12xi32>) -> tensor<12x12xi32>
  return %y : tensor<12x12xi32>
}
