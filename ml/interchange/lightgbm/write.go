package lightgbm

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func write(f *interchange.File) ([]byte, error) {
	s, err := interchange.TreesOf(f, format)
	if err != nil {
		return nil, err
	}
	cols, err := interchange.RawColumns(f.Model.Fitted, format)
	if err != nil {
		return nil, err
	}
	head := []string{"tree", "version=v4", "num_class=" + strconv.Itoa(s.Outputs), "num_tree_per_iteration=" + strconv.Itoa(s.Outputs), "label_index=0",
		"max_feature_idx=" + strconv.Itoa(len(cols)-1)}
	switch s.Link {
	case shape.Identity:
		head = append(head, "objective=regression")
	case shape.Exp:
		head = append(head, "objective=poisson")
	case shape.Logistic:
		head = append(head, "objective=binary sigmoid:1")
	case shape.Softmax:
		head = append(head, fmt.Sprintf("objective=multiclass num_class:%d", s.Outputs))
	case shape.Separate:
		head = append(head, fmt.Sprintf("objective=multiclassova num_class:%d sigmoid:1", s.Outputs))
	case shape.Share: // without an objective predictions are the trees' sums or means
	default:
		return nil, pgerr.Unsupported("LightGBM has no objective that predicts as this model does")
	}
	if s.Mean {
		head = append(head, "average_output")
	}
	var names, infos []string
	pandas := [][]any{}
	of := map[int32]int{}
	for i := range cols {
		c := &cols[i]
		of[c.At] = i
		if strings.ContainsAny(c.Name, " \t\r\n\v\f,:[]{}\"=") {
			return nil, pgerr.Unsupported("LightGBM has no feature of the name %q", c.Name).WithHint("Rename the column in the query.")
		}
		names = append(names, c.Name)
		if c.Categories == nil {
			infos = append(infos, fmt.Sprintf("[%v:%v]", -math.MaxFloat32, math.MaxFloat32))
			continue
		}
		var codes []string
		list := []any{}
		ints, ok := interchange.Ints(c.Categories)
		for k, t := range c.Categories {
			codes = append(codes, strconv.Itoa(k))
			if c.Integers && ok {
				list = append(list, ints[k])
			} else {
				list = append(list, t)
			}
		}
		infos, pandas = append(infos, strings.Join(append([]string{"-1"}, codes...), ":")), append(pandas, list)
	}
	head = append(head, "feature_names="+strings.Join(names, " "), "feature_infos="+strings.Join(infos, " "))
	var bodies, sizes []string
	add := make([]float64, s.Outputs)
	for i := range s.Trees {
		t := &s.Trees[i]
		for offset := range s.Width {
			output := t.Output + offset
			base := s.Base[output] // of the first tree; of the mean of trees, of each
			if !s.Mean {
				base, add[output] = s.Base[output]-add[output], s.Base[output]
			}
			if len(bodies)%s.Outputs != output {
				return nil, pgerr.Unsupported("the trees of the classes do not follow each other as LightGBM's do")
			}
			body := fmt.Sprintf("Tree=%d\n", len(bodies)) + text(t, s.Width, offset, base, cols, of, f.Model.Fitted.Narrow) + "\n\n"
			bodies, sizes = append(bodies, body), append(sizes, strconv.Itoa(len(body)))
		}
	}
	head = append(head, "tree_sizes="+strings.Join(sizes, " "), "", "")
	list, err := json.Marshal(pandas)
	if err != nil {
		return nil, pgerr.Internal("categories have no JSON: %v", err)
	}
	if len(pandas) == 0 {
		list = []byte("null")
	}
	return []byte(strings.Join(head, "\n") + strings.Join(bodies, "") + "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:" + string(list) + "\n"), nil
}

// text is a tree of the file, with base added to its leaves; narrow: numbers are rounded to float32.
func text(t *shape.Tree, width, offset int, base float64, cols []interchange.Raw, of map[int32]int, narrow bool) string {
	number := make([]int, len(t.Nodes)) // of inner nodes from 0, of leaves from -1 down
	inner, leaves := 0, 0
	for k := range t.Nodes {
		if t.Nodes[k].Feature == shape.Leaf {
			leaves++
			number[k] = -leaves
		} else {
			number[k] = inner
			inner++
		}
	}
	lists := map[string][]string{}
	put := func(key string, v any) { lists[key] = append(lists[key], fmt.Sprint(v)) }
	float := func(v float64) string { return strconv.FormatFloat(v, 'g', 17, 64) }
	sets, words := 0, 0
	for k := range t.Nodes {
		n := &t.Nodes[k]
		if n.Feature == shape.Leaf {
			put("leaf_value", float(t.Values[k*width+offset]+base))
			put("leaf_weight", float(n.Cover))
			put("leaf_count", int64(n.Cover))
			continue
		}
		c := &cols[of[n.Feature]]
		left, right, decision, threshold := number[n.Left], number[n.Right], 0, 0.0
		if n.Set != nil {
			// Whatever is not in the set goes right, NULL too: where it goes left the sides change.
			flip := c.NullGoesLeft(n)
			if flip {
				left, right = right, left
			}
			set := make([]uint32, len(c.Categories)/32+1)
			for slot := range c.Categories {
				if n.Has(slot) != flip {
					set[slot>>5] |= 1 << (slot & 31)
				}
			}
			if sets == 0 {
				put("cat_boundaries", 0)
			}
			for _, w := range set {
				put("cat_threshold", w)
			}
			words += len(set)
			put("cat_boundaries", words)
			decision, threshold = byCategory|2<<missingBits, float64(sets)
			sets++
		} else {
			if threshold = n.Closed(); narrow {
				threshold = n.Wide()
			}
			switch n.Missing {
			case shape.ZeroMissing:
				decision = 1 << missingBits
			case shape.NaNMissing:
				decision = 2 << missingBits
			}
			if n.MissLeft {
				decision |= defaultLeft
			}
		}
		put("split_feature", of[n.Feature])
		put("split_gain", float(n.Gain))
		put("threshold", float(threshold))
		put("decision_type", decision)
		put("left_child", left)
		put("right_child", right)
		put("internal_value", 0)
		put("internal_weight", float(n.Cover))
		put("internal_count", int64(n.Cover))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "num_leaves=%d\nnum_cat=%d\n", leaves, sets)
	for _, key := range []string{"split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "leaf_value", "leaf_weight", "leaf_count",
		"internal_value", "internal_weight", "internal_count", "cat_boundaries", "cat_threshold"} {
		if strings.HasPrefix(key, "cat") && sets == 0 {
			continue
		}
		b.WriteString(key + "=" + strings.Join(lists[key], " ") + "\n")
	}
	b.WriteString("is_linear=0\nshrinkage=1\n")
	return b.String()
}
