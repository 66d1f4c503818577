// Softmax of rows.
func.func @main(%x: tensor<20x48xf32> {tw.name = "x"})
    -> (tensor<20x48xf32> {tw.name = "y"}) {
  %y = tw.softmax %x {dim = 1 : i64} : tensor<20x48xf32> -> tensor<20x48xf32>
  return %y : tensor<20x48xf32>
}
