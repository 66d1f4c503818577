// A product of one row. If the unroll factor were twice as large, an iteration would begin only every two cycles.
func.func @main(%x: tensor<1x40xi16> {tw.name = "x"}, %w: tensor<40x20xi16> {tw.name = "w"}) -> (tensor<1x20xi32> {tw.name = "y"}) {
  %y = tw.matmul %x, %w : (tensor<1x40xi16>, tensor<40x20xi16>) -> tensor<1x20xi32>
  return %y : tensor<1x20xi32>
}
