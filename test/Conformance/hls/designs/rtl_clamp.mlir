// Unsigned bytes are clamped to two bounds and combined with other bytes by a maximum.
func.func @main(%x: tensor<96xui8> {tw.name = "x"}, %y: tensor<96xui8> {tw.name = "y"}) -> (tensor<96xui8> {tw.name = "z"}) {
  %low = tw.constant dense<20> : tensor<ui8>
  %high = tw.constant dense<200> : tensor<ui8>
  %a = tw.maximum %x, %low : (tensor<96xui8>, tensor<ui8>) -> tensor<96xui8>
  %b = tw.minimum %a, %high : (tensor<96xui8>, tensor<ui8>) -> tensor<96xui8>
  %z = tw.maximum %b, %y : (tensor<96xui8>, tensor<96xui8>) -> tensor<96xui8>
  return %z : tensor<96xui8>
}
