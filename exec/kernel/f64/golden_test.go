package f64

const goldenBits = "4063e36657df4870 403b82c9e83231d9"
