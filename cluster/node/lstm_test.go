package node

import (
	"fmt"
	"testing"
)

// TestModelsOfSequences: LSTMs fit a series, the reconstruction errors of an LSTM autoencoder are
// largest for the anomalous series, and models trained on one node and on three are the same.
func TestModelsOfSequences(t *testing.T) {
	var hashes []string
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[n-1], spread)
		c.must(`create table readings as select i % 50 as site, i / 50 as at, sin(i / 50 * 0.7 + i % 50) as x,
			case when i % 50 = 7 then cos(i * i) else cos(i / 50 * 0.7 + i % 50) end as z, sin((i / 50 + 1) * 0.7 + i % 50)::float8 as soon from generate_series(0, 2999) i`)
		c.must(`train model next using lstm predict soon with (units = [8], window = 4, order_by = at, partition_by = site, epochs = 8, learn_rate = 0.02, batch_size = 64)
			as select site, at, x, soon from readings`)
		c.must(`train model usual using lstm_autoencoder with (units = [8, 3], window = 5, stride = 5, order_by = 'at', partition_by = 'site', epochs = 40, learn_rate = 0.02)
			as select site, at, x, z from readings`)
		c.must(`train model two using lstm predict soon, less with (units = [8], window = 4, order_by = at, partition_by = site, epochs = 8, learn_rate = 0.02, batch_size = 64)
			as select site, at, x, soon, 1 - 2 * soon as less from readings`)
		hashes = append(hashes, fmt.Sprint(c.must("select name || ' ' || task || ' ' || sha256 || metrics from ml.models order by 1")))
		if got := c.number("select r2_score from ml.evaluate('next', (select * from readings))"); got < 0.95 {
			t.Errorf("r2 of %v", got)
		}
		if got := fmt.Sprint(c.must("select target, r2_score > 0.95 from ml.evaluate('two', (select *, 1 - 2 * soon as less from readings)) order by 1")); got != "[less|t soon|t]" {
			t.Errorf("of two targets: %s", got)
		}
		if got := c.one("select count(*) || ' ' || bool_and(predicted = array[predicted_soon, predicted_less]) from ml.predict('two', (select site, at, x from readings))"); got != "2850 true" {
			t.Errorf("%s windows of two targets", got)
		}
		if got := c.one("select site from ml.predict('usual', (select * from readings)) group by site order by avg(reconstruction_error) desc limit 1"); got != "7" {
			t.Errorf("site %s is reconstructed worst", got)
		}
		if got := c.one("select count(*) || ' ' || max(array_length(reconstruction, 1)) from ml.predict('usual', (select * from readings))"); got != "600 10" {
			t.Errorf("%s windows and numbers of each", got)
		}
	}
	if hashes[0] != hashes[len(hashes)-1] { // the same one in the short form
		t.Errorf("models of one node and of three differ: %s", fmt.Sprint(hashes))
	}
}
