package train

import (
	"context"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/mem"
)

// minima are scikit-learn's, printed by testdata/agreement.py: the mean loss, C·Σ loss + ½‖w‖², and
// the weights, the intercept last.
var minima = []struct {
	name            string
	loss, objective float64
	theta           []float64
}{
	{"c = 1", 0.463675826929103, 1395.18131111801, []float64{
		-0.825974437619, -0.606158619523, -0.234087797034, 0.0581898884125, 0.367686345509, 0.63288675425,
		0.807616091791, -0.829497353741, -0.598917537109, -0.218087258617, 0.0705211336483, 0.277882523675,
		0.585447082112, 0.831984829721, -0.717605982528, -0.460204908629, -0.360561479784, -0.0159732570437,
		0.40228692066, 0.386162987054, 0.794635006451, -0.822936003465, -0.550656678746, -0.23370053269,
		-0.0277177450985, 0.365760663772, 0.528630387374, 0.742895731123, 0.993475118045,
	}},
	{"c = 0.01", 0.495078769996764, 15.9895703942077, []float64{
		-0.390803574994, -0.310194909628, -0.140302707371, 0.0140513391843, 0.209696208768, 0.320305189888,
		0.42739690905, -0.427597576277, -0.326614524519, -0.119585933473, 0.0313527105621, 0.140343833019,
		0.309672275993, 0.454736391284, -0.360331039128, -0.255353509044, -0.189756348346, -0.00828289957143,
		0.234393284294, 0.20114095515, 0.408611496091, -0.432210867251, -0.288723740898, -0.11999828635,
		-0.0168940617806, 0.179931450816, 0.285138265313, 0.396428988868, 0.784809936526,
	}},
	{"standardized", 0.463659334808152, 1392.37849130541, []float64{
		-0.477100032782, -0.355984424872, -0.135881186095, 0.0341962604994, 0.217535338731, 0.371853764654,
		0.468066595212, -0.480160772417, -0.349060115541, -0.127343293697, 0.0407798309423, 0.163014858714,
		0.340222678288, 0.487560656428, -0.411417342332, -0.264772633311, -0.211237521118, -0.00936242442907,
		0.229859803287, 0.227563605475, 0.456884844551, -0.48123759761, -0.320345050521, -0.137122543839,
		-0.0161325625167, 0.211521927594, 0.30930072319, 0.425284254838, 0.994326168607,
	}},
	{"balanced", 0.486101126013471, 149.908307259529, []float64{
		-0.812093245093, -0.587040999171, -0.247671147315, 0.0521613226253, 0.358855517141, 0.618038101037,
		0.791839222185, -0.818428591018, -0.596584249701, -0.212381766923, 0.0521006839959, 0.261804037878,
		0.583911967182, 0.808026537818, -0.715634909456, -0.497185447019, -0.346766241866, -0.0151721417182,
		0.397206863107, 0.4048579826, 0.804191859305, -0.814725313871, -0.549163172029, -0.240632958234,
		-0.0433001970094, 0.358233731716, 0.525857998658, 0.732011288282, 0.324034602239,
	}},
}

// TestLogisticAgreesWithScikitLearn minimises the same objectives on the same
// rows.
func TestLogisticAgreesWithScikitLearn(t *testing.T) {
	const rows = 3000
	options := map[string][]any{
		"c = 1":        {"c", 1.0, "standardize", false},
		"c = 0.01":     {"c", 0.01, "standardize", false},
		"standardized": {"c", 1.0, "standardize", true},
		"balanced":     {"c", 0.1, "standardize", false, "class_weight", "balanced"},
	}
	cols, batches := higgsLike(rows)
	at := 0
	for _, b := range batches {
		y := b.Cols[28].(*array.Int32).Int32Values()
		for i := range y {
			if at%3 == 0 {
				y[i] = 1
			}
			at++
		}
	}
	for _, m := range minima {
		args := append([]any{"tolerance", 1e-9}, options[m.name]...)
		job, err := NewJob("logistic_regression", []string{"y"}, pairs(args...), nil, cols)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWorker(job, WorkerConfig{Pool: mem.NewPool("agree", 0), Temp: t.TempDir(), Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			if err := w.Add(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		l := &Local{Workers: []*Worker{w}}
		n, err := l.Distribute(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), Input{Job: job, Rows: n}, l)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		theta, c := weights(res), args[3].(float64)
		near := func(what string, got, want, tol float64) {
			if !(math.Abs(got-want) <= tol*math.Abs(want)) {
				t.Errorf("%s: %s %.15g, scikit-learn has %.15g", m.name, what, got, want)
			}
		}
		near("mean loss", res.TrainLoss, m.loss, 1e-9)
		near("objective", c*res.TrainLoss*rows+0.5*f64.Dot(theta[:28], theta[:28]), m.objective, 1e-9)
		for i, v := range theta {
			if math.Abs(v-m.theta[i]) > 1e-6 {
				t.Errorf("%s: weight %d is %.9g, scikit-learn has %.9g", m.name, i, v, m.theta[i])
			}
		}
	}
}
