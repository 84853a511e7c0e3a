package types

import "github.com/tributarydb/tributary/sql/inet"

// The OIDs of inet and cidr, networks that share one form and order.
const (
	CidrOID OID = 650
	InetOID OID = 869
)

var (
	Inet = Type{OID: InetOID, Mod: -1}
	Cidr = Type{OID: CidrOID, Mod: -1}
)

var inetTypes = []def{
	{oid: InetOID, form: FormBinary, same: true, parse: parseInet(false), text: textInet(false),
		receive: receiveInet(false), send: sendInet(false), show: showInet},
	{oid: CidrOID, form: FormBinary, general: InetOID, same: true, parse: parseInet(true), text: textInet(true),
		receive: receiveInet(true), send: sendInet(true), show: showInet, narrow: func(d Datum) Datum { return inet.Network(d.([]byte)) }},
}

const inetPgTypes = `
650|cidr||-1|f|b|I|f|0|651|i|m|cidr_in|cidr_out|cidr_recv|cidr_send|-|-|0|-
651|_cidr||-1|f|b|A|f|650|0|i|x|*|*|*|*|-|-|0|*
869|inet||-1|f|b|I|t|0|1041|i|m|inet_in|inet_out|inet_recv|inet_send|-|-|0|-
1041|_inet||-1|f|b|A|f|869|0|i|x|*|*|*|*|-|-|0|*`

func parseInet(cidr bool) parser {
	return in(func(s string) ([]byte, error) { return inet.Parse(s, cidr) })
}

func textInet(cidr bool) func(dst []byte, _ Type, d Datum, _ *Env) []byte {
	return func(dst []byte, _ Type, d Datum, _ *Env) []byte { return inet.Append(dst, d.([]byte), cidr) }
}

func receiveInet(cidr bool) func(t Type, b []byte) (Datum, error) {
	return func(t Type, b []byte) (Datum, error) { return datum(inet.Receive(b, TypeName(t.OID), cidr)) }
}

func sendInet(cidr bool) func(dst []byte, d Datum) []byte {
	return func(dst []byte, d Datum) []byte { return inet.Send(dst, d.([]byte), cidr) }
}

func showInet(dst []byte, d Datum) []byte { return inet.AppendShown(dst, d.([]byte)) }
