func.func @main(%x: tensor<64xi32> {tw.name = "x"}, %y: tensor<64xi32> {tw.name = "y"}) -> (tensor<64xi1> {tw.name = "less"}, tensor<64xi32> {tw.name = "larger"}) {
  %less = tw.lt %x, %y : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %larger = tw.maximum %x, %y : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %less, %larger : tensor<64xi1>, tensor<64xi32>
}
