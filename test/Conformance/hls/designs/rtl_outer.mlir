// An outer product, with a queue for each operand.
func.func @main(%x: tensor<24x1xi16> {tw.name = "x"}, %y: tensor<1x20xi16> {tw.name = "y"}) -> (tensor<24x20xi16> {tw.name = "z"}) {
  %z = tw.mul %x, %y : (tensor<24x1xi16>, tensor<1x20xi16>) -> tensor<24x20xi16>
  return %z : tensor<24x20xi16>
}
