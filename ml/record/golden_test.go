package record

const goldenHash = "cc2ca0556669fe9b 90e4f79c6200db08"
