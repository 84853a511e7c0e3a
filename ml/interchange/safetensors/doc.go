// Package safetensors writes the numbers of linear models, decompositions, nets and centroids as named
// tensors in Hugging Face's format, and reads those of linear models: an 8-byte length, a header of JSON,
// and the tensors' bytes. What the numbers mean stands in the header's metadata: the encoders and the link.
//
// Tested by ml/interchange/formats, and by the check of clients with the real systems.
package safetensors
