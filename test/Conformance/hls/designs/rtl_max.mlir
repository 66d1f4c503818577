// The maximum of each column.
func.func @main(%x: tensor<16x24xi16> {tw.name = "x"}) -> (tensor<24xi16> {tw.name = "y"}) {
  %y = tw.reduce max %x {dims = array<i64: 0>} : tensor<16x24xi16> -> tensor<24xi16>
  return %y : tensor<24xi16>
}
