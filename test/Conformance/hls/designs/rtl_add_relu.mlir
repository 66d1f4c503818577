func.func @main(%x: tensor<64xi32> {tw.name = "x"}, %y: tensor<64xi32> {tw.name = "y"}) -> (tensor<64xi32> {tw.name = "z"}) {
  %a = tw.add %x, %y : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  %r = tw.relu %a : (tensor<64xi32>) -> tensor<64xi32>
  return %r : tensor<64xi32>
}
