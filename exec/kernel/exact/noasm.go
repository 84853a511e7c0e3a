//go:build !amd64 || noasm

package exact

const wide = false

func addPairs(*int64, *int64, *uint32, *float64, *float64, int, int, int, int) int { return 0 }

func addSquareSums(*int64, *uint32, *float64, int, int, int) int { return 0 }

func addPairRun(*int64, *float64, *float64, int, int, int) int { return 0 }

func addSquareRun(*int64, *float64, int, int) int { return 0 }
