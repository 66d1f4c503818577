// A constant of the model is stored in a ROM, also in the check with threads.
func.func @main(%x: tensor<4xf32> {tw.name = "x"}) -> (tensor<4xf32> {tw.name = "y"}) {
  %c = tw.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = tw.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
