//go:build amd64 && !noasm

package f64

func levels() []bodies {
	avx2 := bodies{"avx2", margins32AVX2, margins64AVX2, grad32AVX2, grad64AVX2, logisticAVX2, expAVX2, dotAVX2,
		standardize32AVX2, standardize64AVX2,
		packFixedBody(packFixed32AVX2), packFixedBody(packFixed64AVX2), addFixedBody,
		columnSplitsBody(columnSplits32AVX2), columnSplitsBody(columnSplits64AVX2), columnSplitsBody(columnSums64AVX2), staysBody}
	avx512 := bodies{"avx512", margins32AVX512, margins64AVX512, grad32AVX512, grad64AVX512, logisticAVX512, expAVX512, dotAVX512,
		standardize32AVX512, standardize64AVX512,
		packFixedBody(packFixed32AVX512), packFixedBody(packFixed64AVX512), addFixedBody512,
		columnSplitsBody(columnSplits32AVX512), columnSplitsBody(columnSplits64AVX512), columnSplitsBody(columnSums64AVX512), staysBody512}
	switch Level {
	case "avx512":
		return []bodies{avx2, avx512}
	case "avx2":
		return []bodies{avx2}
	}
	return nil
}

func coarseLevels() []func(m []int32, stride int, a, b []byte, quads int) {
	if Level == "go" {
		return nil
	}
	return []func(m []int32, stride int, a, b []byte, quads int){addCoarseBody, addCoarse}
}

func errorLevels() []errorBodies {
	avx2 := errorBodies{errorEndsBody(errorEndsAVX2), errorPartsBody(errorPartsAVX2)}
	switch Level {
	case "avx512":
		return []errorBodies{avx2, {errorEndsBody(errorEndsAVX512), errorPartsBody(errorPartsAVX512)}}
	case "avx2":
		return []errorBodies{avx2}
	}
	return nil
}

func packCoarseLevels() []func(dst []byte, x []float32, shift, scale []float64, d, tiles int) {
	if Level == "go" {
		return nil
	}
	return []func(dst []byte, x []float32, shift, scale []float64, d, tiles int){packCoarseBody(packCoarse32AVX2), packCoarse32}
}

func scoreLevels() []scoreBodies {
	avx2 := scoreBodies{sigmoidsBody(sigmoidsAVX2), crossEntropyBody(crossEntropyAVX2), labelEntropyBody(labelEntropyAVX2), tileScaledBody(tileScaled32AVX2)}
	switch Level {
	case "avx512":
		return []scoreBodies{avx2, {sigmoidsBody(sigmoidsAVX512), crossEntropyBody(crossEntropyAVX512), labelEntropyBody(labelEntropyAVX512), tileScaledBody(tileScaled32AVX512)}}
	case "avx2":
		return []scoreBodies{avx2}
	}
	return nil
}

func momentLevels() []momentBodies {
	avx2 := momentBodies{squareMargins32AVX2, squareMargins64AVX2, centeredKeysBody(centeredKeys32AVX2), centeredKeysBody(centeredKeys64AVX2)}
	switch Level {
	case "avx512":
		return []momentBodies{avx2, {squareMargins32AVX512, squareMargins64AVX512, centeredKeysBody(centeredKeys32AVX512), centeredKeysBody(centeredKeys64AVX512)}}
	case "avx2":
		return []momentBodies{avx2}
	}
	return nil
}
