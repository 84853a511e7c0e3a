// Package kmeans is the k-means family of models, which partition rows into k clusters,
// each with a centroid, so that the sum of squared distances of rows to the centroid of
// their cluster, the inertia, is small. Dense columns count with their number, one-hot
// slots as coordinates of 0 and 1.
//
//	bounds ─▶ first ─▶ draw … draw ─▶ weights ─▶ assign … assign ─▶ exact
//	|x| max   sums     candidates     rows of     Lloyd: sums of    inertia,
//	          a row    far from all   each        each cluster      spread
//	                   drawn before   one         └─ far: rows for
//	                                               empty clusters
//
// The start is k-means|| (Bahmani et al., "Scalable k-means++", 2012): a few
// passes that each draw many candidates with the square of their distance as
// weight, reduced to k at the root by greedy k-means++ (Arthur and
// Vassilvitskii, 2007) and Lloyd's iterations over the candidates, which count
// as many rows as are nearest to them. k-means++ draws one row a pass.
// Mini-batches follow Sculley, "Web-scale k-means clustering", 2010.
//
// The model depends on the rows alone. Sums are of integers: a coordinate is a
// multiple of a power of two below 2^-61 of (rows × greatest value), so that no
// sum overflows. Rows are drawn by their content: each has a number that its
// values and the seed decide, exponentially distributed, and those with the
// least number over weight are drawn (Efraimidis and Spirakis, "Weighted random
// sampling with a reservoir", 2006). Copies of a row have the same number and
// are one candidate; their number counts in the weights of candidates and in
// all sums.
//
// Lloyd's iterations keep each row's cluster. Most rows are found to stay in
// theirs without the exact distances: by distances in float32 with a bound on
// their error, or, where there are many centroids or features, by bounds on the
// distances to the own centroid and to the nearest other one (Hamerly, "Making
// k-means even faster", 2010; centermotion.go). The exact distances are computed only
// for rows that may move; the model is the same as if they were computed for all.
// Partials hold what changed: what the rows that moved take from one cluster and
// bring to another. Rows whose state is lost, after a resume or for lack of
// memory, are first assigned to the centroids of the iteration before.
package kmeans
