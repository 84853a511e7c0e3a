package linear

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// cars are the 32 cars of Motor Trend 1974 (mtcars): mpg, cylinders, horsepower, weight, quarter
// mile time, manual transmission, carburettors.
var cars = [][7]float64{
	{21, 6, 110, 2.62, 16.46, 1, 4}, {21, 6, 110, 2.875, 17.02, 1, 4}, {22.8, 4, 93, 2.32, 18.61, 1, 1},
	{21.4, 6, 110, 3.215, 19.44, 0, 1}, {18.7, 8, 175, 3.44, 17.02, 0, 2}, {18.1, 6, 105, 3.46, 20.22, 0, 1},
	{14.3, 8, 245, 3.57, 15.84, 0, 4}, {24.4, 4, 62, 3.19, 20, 0, 2}, {22.8, 4, 95, 3.15, 22.9, 0, 2},
	{19.2, 6, 123, 3.44, 18.3, 0, 4}, {17.8, 6, 123, 3.44, 18.9, 0, 4}, {16.4, 8, 180, 4.07, 17.4, 0, 3},
	{17.3, 8, 180, 3.73, 17.6, 0, 3}, {15.2, 8, 180, 3.78, 18, 0, 3}, {10.4, 8, 205, 5.25, 17.98, 0, 4},
	{10.4, 8, 215, 5.424, 17.82, 0, 4}, {14.7, 8, 230, 5.345, 17.42, 0, 4}, {32.4, 4, 66, 2.2, 19.47, 1, 1},
	{30.4, 4, 52, 1.615, 18.52, 1, 2}, {33.9, 4, 65, 1.835, 19.9, 1, 1}, {21.5, 4, 97, 2.465, 20.01, 0, 1},
	{15.5, 8, 150, 3.52, 16.87, 0, 2}, {15.2, 8, 150, 3.435, 17.3, 0, 2}, {13.3, 8, 245, 3.84, 15.41, 0, 4},
	{19.2, 8, 175, 3.845, 17.05, 0, 2}, {27.3, 4, 66, 1.935, 18.9, 1, 1}, {26, 4, 91, 2.14, 16.7, 1, 2},
	{30.4, 4, 113, 1.513, 16.9, 1, 2}, {15.8, 8, 264, 3.17, 14.5, 1, 4}, {19.7, 6, 175, 2.77, 15.5, 1, 6},
	{15, 8, 335, 3.57, 14.6, 1, 8}, {21.4, 4, 109, 2.78, 18.6, 1, 2},
}

// learnt is what scikit-learn learns from cars, output by output, the intercept last, as printed by
// testdata/agreement.py.
var learnt = map[string][]float64{
	"linear":       {-1.782227161, -4.3587972, 0.5108336942, 27.61052686},
	"ridge":        {-1.751851524, -4.089811332, 0.5340312263, 26.28652786},
	"lasso":        {-0, -4.545099731, 0.8156718628, 20.15462395},
	"elastic net":  {-1.330793973, -3.171388239, 0.6276005111, 21.0439976},
	"huber":        {-2.093903558, -4.046836834, 0.3863508551, 28.92576288},
	"quantile":     {-0.9807256429, -4.818350688, 0.8175180705, 23.55117903},
	"quantile l1":  {0, -3.162393162, 0.5555555556, 18.17863248},
	"poisson":      {0.1636238409, 0.1330079907, -0.1610117993, 3.14884828},
	"gamma":        {-0.09186780798, -0.2165708388, 0.02379945063, 3.369702946},
	"tweedie":      {-0.09418326355, -0.222538264, 0.02347756173, 3.397763427},
	"logistic":     {-0.4745338436, -3.050387744, -0.9394058435, 26.29010182},
	"logistic l1":  {0, -3.82828533, -0.8624355948, 26.58716526},
	"logistic net": {-0.089840714, -2.637773009, -0.6772778869, 19.84902381},
	"multinomial":  {-0.4930285719, -1.183660612, 0.4566547648, -4.015804902, -0.2350270246, 0.09754825787, -0.0194852444, 0.5315924318, 0.7280555964, 1.086112354, -0.4371695204, 3.48421247},
	"svm":          {0.7667916414, -1.145030113, 0.1251492852, 0},
	"svm of three": {-0.1643262247, -0.2575512917, 0.04388695085, 0, -0.06310692551, -0.01705168494, -0.02292585606, 0, 0.2015556604, 0.2580645143, -0.0712286546, 0},
}

// errors are the parameters, standard errors and p-values of statsmodels, printed by the same
// program.
var errors = map[string][]float64{
	"linear":         {-1.782227161, -4.3587972, 0.5108336942, 27.61052686, 1.498116885, 0.7527003922, 0.439221532, 8.419928477, 0.2441762409, 3.21722153e-06, 0.254628381, 0.002784555661},
	"logistic":       {-4.467896175, -1.842893939, 38.77277418, 1.684514194, 0.7026516636, 14.68295162, 0.007993715613, 0.008721804395, 0.008274319534},
	"poisson":        {0.1852672545, 0.1298252212, -0.1560078883, 3.03588262, 0.327451173, 0.1647492299, 0.1217208031, 2.273349584, 0.5715393372, 0.4306866653, 0.1999527053, 0.1817380421},
	"poisson offset": {-0.2246096441, -0.09854247399, -1.859305218, 0.2231773263, 0.09530262493, 1.952511551, 0.3142146125, 0.3011383225, 0.3409634327},
	"gamma":          {-0.09216325658, -0.2187594151, 0.02357028341, 3.381265401, 0.06652708892, 0.03342527304, 0.01950457285, 0.3739049577, 0.1659456834, 5.960263695e-11, 0.2268745651, 1.522700302e-19},
	"tweedie":        {-0.09420023355, -0.2231039413, 0.02343421332, 3.400315074, 0.06590792111, 0.0337700678, 0.01845170204, 0.3534221979, 0.1529265616, 3.933558672e-11, 0.2040739795, 6.512233869e-22},
}

// Columns of cars.
const (
	mpg = iota
	cylinders
	horsepower
	weighs
	quarterMile
	manual
	carburettors
)

// carData returns cars with some columns as features, horsepower in hundreds.
func carData(target int, features ...int) *familytest.Data {
	d := &familytest.Data{}
	for _, c := range cars {
		var x []float64
		for _, f := range features {
			if v := c[f]; f == horsepower {
				x = append(x, v/100)
			} else {
				x = append(x, v)
			}
		}
		d.X, d.Y = append(d.X, x), append(d.Y, c[target])
	}
	switch target {
	case manual:
		d.Classes = 2
	case cylinders:
		d.Classes = 3
		for i := range d.Y {
			d.Y[i] = d.Y[i]/2 - 2
		}
	}
	return d
}

// TestAgreesWithScikitLearn minimises the same objectives as scikit-learn and compares parameters.
func TestAgreesWithScikitLearn(t *testing.T) {
	for name, c := range map[string]struct {
		g         *glm
		target    int
		tolerance float64 // of a parameter, relative if it is above 1
		options   []any
	}{
		"linear":       {linearRegression, mpg, 1e-9, nil},
		"ridge":        {ridge, mpg, 1e-8, []any{"alpha", 2.0}},
		"lasso":        {lasso, mpg, 1e-6, []any{"alpha", 0.5, "tolerance", 1e-15}},
		"elastic net":  {elasticNet, mpg, 1e-6, []any{"alpha", 0.5, "l1_ratio", 0.3, "tolerance", 1e-15}},
		"huber":        {huberRegression, mpg, 1e-4, []any{"alpha", 0.1, "epsilon", 1.2, "tolerance", 1e-9}},
		"quantile":     {quantileRegression, mpg, 1e-3, []any{"quantile", 0.7, "max_iterations", 5000}},
		"quantile l1":  {quantileRegression, mpg, 1e-3, []any{"quantile", 0.3, "alpha", 0.2, "max_iterations", 5000}},
		"poisson":      {poissonRegression, carburettors, 1e-5, []any{"alpha", 0.1, "tolerance", 1e-10}},
		"gamma":        {gammaRegression, mpg, 1e-5, []any{"alpha", 0.01, "tolerance", 1e-10}},
		"tweedie":      {tweedieRegression, mpg, 1e-5, []any{"alpha", 0.01, "tolerance", 1e-10}},
		"logistic":     {logisticRegression, manual, 1e-4, []any{"c", 2.0, "tolerance", 1e-9}},
		"logistic l1":  {logisticRegression, manual, 1e-3, []any{"c", 1.0, "l1_ratio", 1.0, "tolerance", 1e-8, "max_iterations", 2000}},
		"logistic net": {logisticRegression, manual, 1e-3, []any{"c", 1.0, "l1_ratio", 0.4, "tolerance", 1e-8, "max_iterations", 2000}},
		"multinomial":  {logisticRegression, cylinders, 1e-3, []any{"c", 0.5, "tolerance", 1e-9, "max_iterations", 5000}},
		"svm":          {linearSVM, manual, 1e-5, []any{"c", 0.3, "fit_intercept", false, "tolerance", 1e-9}},
		"svm of three": {linearSVM, cylinders, 1e-5, []any{"c", 0.01, "fit_intercept", false, "tolerance", 1e-9}},
	} {
		got, err := familytest.Train(t, c.g, carData(c.target, horsepower, weighs, quarterMile), familytest.Spread{}, c.options...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := got.Predictor.(*predictor)
		want := learnt[name]
		// The intercepts of several classes are unique up to a constant added to all.
		shift := 0.0
		if name == "multinomial" {
			shift = p.theta[3] - want[3]
		}
		for i, v := range want {
			w := p.theta[i]
			if i%4 == 3 {
				w -= shift
			}
			if math.Abs(w-v) > c.tolerance*math.Max(1, math.Abs(v)) {
				t.Errorf("%s: parameter %d is %.10g, scikit-learn has %.10g (%+v)", name, i, w, v, got.State)
			}
		}
	}
}

// TestAgreesWithStatsmodels compares standard errors and p-values.
func TestAgreesWithStatsmodels(t *testing.T) {
	offset := carData(carburettors, horsepower, quarterMile, weighs)
	for i, c := range cars {
		offset.X[i][2] = math.Log(c[horsepower])
	}
	for name, c := range map[string]struct {
		g       *glm
		d       *familytest.Data
		options []any
	}{
		"linear":         {linearRegression, carData(mpg, horsepower, weighs, quarterMile), nil},
		"logistic":       {logisticRegression, carData(manual, horsepower, quarterMile), []any{"optimizer", "newton"}},
		"poisson":        {poissonRegression, carData(carburettors, horsepower, weighs, quarterMile), nil},
		"poisson offset": {poissonRegression, offset, []any{"offset", "x2"}},
		"gamma":          {gammaRegression, carData(mpg, horsepower, weighs, quarterMile), nil},
		"tweedie":        {tweedieRegression, carData(mpg, horsepower, weighs, quarterMile), nil},
	} {
		got, err := familytest.Train(t, c.g, c.d, familytest.Spread{}, append([]any{"calculate_p_values", true, "tolerance", 1e-9}, c.options...)...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, _ := got.Predictor.(*predictor).Describe("weights")
		want := errors[name]
		n := len(want) / 3
		if len(rows) != n {
			t.Fatalf("%s: %v", name, rows)
		}
		near := func(what string, got types.Datum, want float64) {
			if v, ok := got.(float64); !ok || math.Abs(v-want) > 1e-5*math.Max(math.Abs(want), 1e-15) {
				t.Errorf("%s: %s is %v, statsmodels has %v", name, what, got, want)
			}
		}
		for i, r := range rows {
			near(r[1].(string), r[2], want[i])
			near(r[1].(string)+"'s error", r[3], want[n+i])
			near(r[1].(string)+"'s statistic", r[4], want[i]/want[n+i])
			near(r[1].(string)+"'s p-value", r[5], want[2*n+i])
		}
	}
}

// TestErrorsThatThereAreNot: standard errors are not defined for a column that is a linear combination
// of others.
func TestErrorsThatThereAreNot(t *testing.T) {
	d := carData(mpg, weighs, weighs)
	got, err := familytest.Train(t, linearRegression, d, familytest.Spread{}, "calculate_p_values", true)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := got.Predictor.(*predictor).Describe("original_weights")
	if rows[0][3] == nil || rows[1][3] != nil || rows[1][5] != nil || rows[2][3] == nil {
		t.Errorf("a column twice: %v", rows)
	}
}

// TestAnalyticWeights compares the standard errors of rows with weights that are no numbers of copies
// with statsmodels' WLS and GLM with var_weights; R's lm and glm have the same.
func TestAnalyticWeights(t *testing.T) {
	d := &familytest.Data{Y: []float64{21, 21, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2}, W: []float64{1, 0.5, 2, 3, 0.25, 1, 2, 1.5, 1, 0}}
	for _, x := range []float64{2.62, 2.875, 2.32, 3.215, 3.44, 3.46, 3.57, 3.19, 3.15, 3.44} {
		d.X = append(d.X, []float64{x})
	}
	for _, c := range []struct {
		g        *glm
		how      string
		analytic [2]float64 // standard error and p-value of the slope
	}{
		{linearRegression, "analytic", [2]float64{2.3204005, 0.08799509}},
		{linearRegression, "frequency", [2]float64{1.91756475, 0.03690064}}, // 12.25 rows
		{gammaRegression, "analytic", [2]float64{0.12203282, 5.19400015e-02}},
	} {
		got, err := familytest.Train(t, c.g, d, familytest.Spread{}, "calculate_p_values", true, "weight", "w", "weight_type", c.how, "tolerance", 1e-10)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := got.Predictor.(*predictor).Describe("weights")
		for i, want := range c.analytic {
			if v, _ := rows[0][3+2*i].(float64); math.Abs(v-want) > 1e-3*want {
				t.Errorf("%s %s: %v is not %v", c.g.info.Name, c.how, v, want)
			}
		}
	}
	for _, options := range [][]any{{"weight_type", "analytic"}, {"weight_type", "analytic", "calculate_p_values", true}, {"weight_type", "analytic", "weight", "w"}} {
		if _, err := familytest.Train(t, linearRegression, d, familytest.Spread{}, options...); !pgerr.Is(err, pgerr.InvalidParameterValue) {
			t.Errorf("%v: %v", options, err)
		}
	}
}
