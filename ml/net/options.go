package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	defaultEpochs = 50
	maxUnits      = 1 << 16 // of a layer
	maxLayers     = 64
)

// The losses by their names.
const (
	lossMSE   = "mse"
	lossMAE   = "mae"
	lossHuber = "huber"
	lossCross = "cross_entropy"
)

func hiddenOptions(def, doc string) []*family.Option {
	read := family.Integers(1, maxUnits)
	return []*family.Option{{Names: []string{"hidden_units", "hidden_layer_sizes", "layers"}, Type: "integers", Default: def, Doc: doc, Read: func(v family.Value) (any, error) {
		if a, ok := v.Value.(types.Array); ok && len(a.Elems) > maxLayers {
			return nil, v.Bad("a list of at most 64 integers")
		}
		return read(v)
	}}}
}

func number(names []string, def, doc, interval string) *family.Option {
	return &family.Option{Names: names, Type: "number", Default: def, Doc: doc, Read: family.Interval(interval)}
}

// options are those that all nets have.
var options = []*family.Option{
	{Names: []string{"activation", "activation_fn"}, Type: "text", Default: "`relu`",
		Doc:  "The function that hidden units apply to their sums: `relu`, `gelu` (by its approximation with tanh), `tanh`, `sigmoid` (`logistic`) or `linear` (`identity`).",
		Read: family.Word(relu, gelu, tanh, sigmoid+"|logistic", linear+"|identity|none")},
	{Names: []string{"initializer", "kernel_initializer"}, Type: "text", Default: "`glorot`", Doc: "How the first weights of hidden units are drawn: `glorot`, or `he`, for many layers of `relu`.",
		Read: family.Word("glorot|glorot_uniform|xavier", "he|he_uniform|kaiming")},
	number([]string{"dropout", "dropout_rate"}, "0", "The share of hidden units that each row leaves out while training.", "[0, 1)"),
	{Names: []string{"layer_norm", "layer_normalization"}, Type: "boolean", Default: "false", Doc: "Normalise the sums of each hidden layer, row by row, before the activation.", Read: family.Boolean},
	{Names: []string{"embedding", "embedding_dim", "embedding_size"}, Type: "integer", Default: "half the categories, at most 50",
		Doc: "The length of the vector that is learnt for each category of a column.", Read: family.Integer(1, 1024)},
	{Names: []string{"loss", "loss_function"}, Type: "text", Default: "`cross_entropy` for classes, `mae` for windows that are reproduced, otherwise `mse`",
		Doc: "What is minimised: `mse`, `mae` or `huber` for a number, `cross_entropy` (`log_loss`) for classes.",
		Read: family.Word(lossMSE+"|mean_squared_error|squared_error", lossMAE+"|mean_absolute_error|absolute_error", lossHuber+"|huber_loss|smooth_l1",
			lossCross+"|crossentropy|log_loss|binary_crossentropy|categorical_crossentropy|sparse_categorical_crossentropy|mean_log_loss")},
	number([]string{"huber_delta", "delta"}, "1", "Residuals above it, in standard deviations of the target, count linearly in `huber`.", "(0, inf)"),
	{Names: []string{"optimizer", "solver", "optimize_strategy"}, Type: "text", Default: "`adam`", Doc: "How parameters move: `adam`, `adamw`, `sgd` or `momentum`.",
		Read: family.Word("adam", "adamw", "sgd", "momentum")},
	{Names: family.LearnRate("", "").Names, Type: "number", Default: "0.001; 0.01 for `sgd` and `momentum`",
		Doc: "The length of a step along the gradient.", Read: family.Positive},
	number([]string{"momentum"}, "0.9", "The share of a step's direction that `momentum` keeps.", "[0, 1)"),
	number([]string{"beta_1", "beta1"}, "0.9", "The share of the mean gradient that `adam` keeps.", "[0, 1)"),
	number([]string{"beta_2", "beta2"}, "0.999", "The share of the mean squared gradient that `adam` keeps.", "[0, 1)"),
	number([]string{"epsilon"}, "1e-8", "Added to what `adam` divides by.", "(0, inf)"),
	{Names: []string{"learn_rate_schedule", "learning_rate_schedule", "lr_schedule"}, Type: "text", Default: "`constant`",
		Doc:  "How the rate falls: `constant`, `cosine` to 0 at the last epoch, `exponential` by decay_rate in decay_epochs, `step` likewise but all at once.",
		Read: family.Word("constant", "cosine", "exponential", "step")},
	number([]string{"decay_rate"}, "0.5", "See learn_rate_schedule.", "(0, 1]"),
	number([]string{"decay_epochs"}, "10", "See learn_rate_schedule.", "(0, inf)"),
	number([]string{"warmup_epochs", "warmup"}, "0", "Epochs in which the rate rises from 0 first.", "[0, inf)"),
	number([]string{"clip_norm", "clipnorm", "global_clipnorm", "max_grad_norm"}, "none", "Gradients that are longer are shortened to this.", "(0, inf)"),
	number([]string{"weight_decay"}, "0; 0.01 for `adamw`", "The share of the weights that a step takes off, times its rate. Biases are not decayed.", "[0, inf)"),
	{Names: append([]string{}, append(family.L2.Names, "alpha")...), Type: "number", Default: "0", Doc: "The penalty l2_reg/2·‖weights‖² on the mean loss. Biases are not penalised.", Read: family.NotNegative},
	family.MaxIterations("50", "The passes over the rows."),
	{Names: family.BatchSize.Names, Type: "integer", Default: "a hundredth of the rows, from 32 to 512", Doc: family.BatchSize.Doc, Read: family.BatchSize.Read},
	{Names: []string{"shuffle"}, Type: "boolean", Default: "true", Doc: "Take the mini-batches in another order each epoch.", Read: family.Boolean},
	{Names: append([]string{}, append(family.EarlyStop.Names, "early_stopping")...), Type: "boolean", Default: "false, true if min_rel_progress or patience is given",
		Doc:  "End when `patience` epochs have not lowered the loss (of the held out rows, if there are any) by min_rel_progress of it. The best epoch is kept.",
		Read: family.Boolean},
	{Names: family.MinRelProgress.Names, Type: "number", Default: "0.0001", Doc: "See early_stop.", Read: family.NotNegative},
	family.WarmStart,
	{Names: []string{"patience", "n_iter_no_change", "early_stopping_rounds"}, Type: "integer", Default: "5", Doc: "See early_stop.", Read: family.Integer(1, 1e6)},
}

// linear is the identity, for which there is no activation layer.
const linear = "linear"

// check checks options against each other.
func check(o *family.Values, p *family.Plan) error {
	given := func(name, why string) error {
		return pgerr.New(pgerr.InvalidParameterValue, "option %q does not fit here", name).At(o.Pos(name)).WithDetail("%s", why)
	}
	how, loss, classes := o.Text("optimizer", "adam"), lossOf(o, p), p.Target == family.ClassTarget
	switch schedule := o.Text("learn_rate_schedule", "constant"); {
	case classes != (loss == lossCross):
		e := pgerr.New(pgerr.InvalidParameterValue, "loss %q does not fit the target", loss).At(o.Pos("loss"))
		if classes {
			return e.WithHint("The target is a class: use cross_entropy, or cast the target to float8.")
		}
		return e.WithHint("It is a number: use mse, mae or huber.")
	case o.Given("huber_delta") && loss != lossHuber:
		return given("huber_delta", "It is for the loss huber.")
	case o.Given("momentum") && how != "momentum" && how != "sgd":
		return given("momentum", "It is for the optimizer momentum.")
	case (o.Given("decay_rate") || o.Given("decay_epochs")) && schedule != "exponential" && schedule != "step":
		for _, name := range []string{"decay_rate", "decay_epochs"} {
			if o.Given(name) {
				return given(name, "It is for the learn_rate_schedule exponential or step.")
			}
		}
	case how != "adam" && how != "adamw":
		for _, name := range []string{"beta_1", "beta_2", "epsilon"} {
			if o.Given(name) {
				return given(name, "It is for the optimizers adam and adamw.")
			}
		}
	}
	if stop := o.Given("early_stop") && !o.Bool("early_stop", false); stop {
		for _, name := range []string{"patience", "min_rel_progress"} {
			if o.Given(name) {
				return given(name, "It is for early_stop, which is off.")
			}
		}
	}
	return nil
}

func lossOf(o *family.Values, p *family.Plan) string {
	if p.Target == family.ClassTarget {
		return o.Text("loss", lossCross)
	}
	if p.Task == family.Sequence {
		return o.Text("loss", lossMAE)
	}
	return o.Text("loss", lossMSE)
}

// training holds the options of training.
type training struct {
	epochs   int
	batch    int
	shuffle  bool
	rule     optim.Rule
	consts   optim.Constants
	rate     float64
	schedule string
	factor   float64 // of the rate in period epochs
	period   float64
	warmup   float64
	clip     float64 // 0: none
	decay    float64
	l2       float64
	stop     bool
	least    float64
	patience int
}

func trainingOf(s *family.Setup) training {
	o := s.Options
	how := o.Text("optimizer", "adam")
	t := training{epochs: s.Plan.MaxIterations, batch: o.Int("batch_size", int(max(32, min(512, s.Rows/100)))), shuffle: o.Bool("shuffle", true),
		consts:   optim.Constants{Momentum: o.Float("momentum", 0.9), Beta1: o.Float("beta_1", 0.9), Beta2: o.Float("beta_2", 0.999), Epsilon: o.Float("epsilon", 1e-8)},
		schedule: o.Text("learn_rate_schedule", "constant"), factor: o.Float("decay_rate", 0.5), period: o.Float("decay_epochs", 10), warmup: o.Float("warmup_epochs", 0),
		clip: o.Float("clip_norm", 0), l2: o.Float("l2_reg", 0),
		stop:  o.Bool("early_stop", o.Given("min_rel_progress") || o.Given("patience")),
		least: o.Float("min_rel_progress", 1e-4), patience: o.Int("patience", 5)}
	rate, decay := 0.001, 0.0
	switch {
	case how == "adam":
		t.rule = optim.Adam
	case how == "adamw":
		t.rule, decay = optim.Adam, 0.01
	case how == "momentum" || o.Float("momentum", 0) > 0: // Keras's and PyTorch's spelling of sgd with momentum
		t.rule, rate = optim.Momentum, 0.01
	default:
		t.rule, rate = optim.SGD, 0.01
	}
	t.rate, t.decay = o.Float("learn_rate", rate), o.Float("weight_decay", decay)
	return t
}

// rateAt is the learning rate of a step that begins epoch epochs after the
// start, steps being the number of steps of an epoch. The cosine schedule is
// Loshchilov and Hutter's (2017) without restarts.
func (t *training) rateAt(epoch float64, steps int) float64 {
	by := 1.0
	switch t.schedule {
	case "cosine":
		by = 0.5 * (1 + cosPi(min(1, epoch/float64(t.epochs))))
	case "exponential":
		by = f64.Exp1(f64.Log1(t.factor) * (epoch / t.period))
	case "step":
		by = f64.Exp1(f64.Log1(t.factor) * math.Floor(epoch/t.period))
	}
	if risen := (epoch + 1/float64(steps)) / t.warmup; t.warmup > 0 && risen < 1 {
		by *= risen
	}
	return t.rate * by
}

// cosPi is the cosine of π·x for x in [0, 1]. math.Cos may differ between architectures, and with
// it the model.
func cosPi(x float64) float64 {
	if x > 0.5 {
		return -cosPi(1 - x)
	}
	a := float64(x * math.Pi)
	sq := float64(a * a)
	s := 1.0
	for k := 20; k > 0; k -= 2 { // 1 - a²/2 (1 - a²/12 (1 - …
		s = 1 - float64(float64(sq/float64(k*(k-1)))*s)
	}
	return s
}
