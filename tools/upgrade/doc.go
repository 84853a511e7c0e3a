// Command upgrade walks a cluster from the release before to this program, and back:
//
//	go -C tools run ./upgrade
//
// It builds the commit named in tools/release/previous from the repository's history, and starts three nodes
// of it. They make every kind of object (made.sql). Then node after node becomes the new program while
// clients write and read and models train; node after node goes back; forward again; the upgrade is
// finalised. Statements may fail on connections that were closed only. After each walk everything that was
// made is the same on every node (checks.sql), each model has its bytes, and the rows that clients wrote are
// those of their history. At last the program before refuses the finalised directory, and the new program
// alone opens directories as the program before has left them.
//
//	--layouts   write sql/version/previous.txt anew from that commit, and end
package main
