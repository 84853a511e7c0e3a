// Package rows is a node's rows of a training, from the query until they are blocks.
// Which of three types they are is decided when they are made, and by whether there is
// memory for them:
//
//	New ─┬▶ inPlace   rows straight into tiles, where their order does not matter
//	     └▶ held      records in leaves: by the hash of the row or of its partition,
//	        │         or in place where tiles cannot be made before encoders are fitted
//	        │
//	        └─ a node is short of memory, and the query can be read again:
//	           ReadAgain ─▶ Reread   statistics at the first reading (tally), blocks at the
//	                                 second: in place, or of encoded rows that were sent
//	                                 to the owners of their leaves (shuffle)
//
//	Add … Finish ─┬─▶ [Send ─▶ Put of the owner, Frequent] Assign
//	              └─▶ ReadAgain
//	Copies ─▶ Stats ─▶ [Rescan, Add …, Send, Frequent, Assign] Encode
//
// What is in the brackets is of distributed rows, and of rows that are read again. Afterwards
// rows hold nothing.
//
// Tested by ml/train and cluster/trainer, whose trainings take every way through it.
package rows
