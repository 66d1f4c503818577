// The sum of each row.
func.func @main(%x: tensor<16x24xi32> {tw.name = "x"}) -> (tensor<16xi32> {tw.name = "y"}) {
  %y = tw.reduce sum %x {dims = array<i64: 1>} : tensor<16x24xi32> -> tensor<16xi32>
  return %y : tensor<16xi32>
}
