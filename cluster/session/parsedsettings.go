package session

import (
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// parsedSettings is what every statement asks of the session's settings, which are texts,
// read once for as long as they stay. None of them is a setting of the cluster's.
type parsedSettings struct {
	changes uint64
	who     query.Identity
	caller  *query.Caller // of no statement

	statement, transaction, idle, idleInBlock time.Duration // limits; 0 for none
	isolation, readOnly                       string        // of a transaction that begins
	asOf                                      string
	logged                                    time.Duration // how long a statement takes that the log has; below 0: none is
	explain                                   autoExplain
}

// at is k where the settings still say what they said, else what they say now.
func (k *parsedSettings) at(who query.Identity, set *settings.Set, env *types.Env) *parsedSettings {
	if k != nil && k.changes == set.Changes() && k.who == who {
		return k
	}
	ms := func(name string) time.Duration { return time.Duration(set.Int(name)) * time.Millisecond }
	return &parsedSettings{changes: set.Changes(), who: who, caller: query.NewCaller(who, set, env, time.Time{}, nil),
		statement: ms("statement_timeout"), logged: ms("log_min_duration_statement"), explain: autoExplainOf(set), transaction: ms("transaction_timeout"), idle: ms("idle_session_timeout"), idleInBlock: ms("idle_in_transaction_session_timeout"),
		isolation: set.Value("default_transaction_isolation"), readOnly: set.Value("default_transaction_read_only"), asOf: set.Value("tributary.as_of")}
}

// limit is how long a session may wait for its client, in a transaction or in none, of the two times for these, and
// the error that ends it then; 0 is for ever.
func (k *parsedSettings) limit(idle, idleInBlock time.Duration, inBlock bool, since time.Time) (time.Duration, error) {
	limit, code, what := idle, pgerr.IdleSessionTimeout, "idle-session"
	if inBlock {
		limit, code, what = idleInBlock, pgerr.IdleInTransactionSessionTimeout, "idle-in-transaction"
		if left, ok := k.leftOf(since); ok && (limit <= 0 || left < limit) {
			return left, transactionTimeout()
		}
	}
	if limit <= 0 {
		return 0, nil
	}
	return limit, pgerr.New(code, "terminating connection due to %s timeout", what).WithSeverity(pgerr.SevFatal)
}

// leftOf is what transaction_timeout leaves of a transaction that began then, at least a moment;
// no where there is no limit.
func (k *parsedSettings) leftOf(since time.Time) (time.Duration, bool) {
	if k.transaction <= 0 {
		return 0, false
	}
	return max(k.transaction-time.Since(since), time.Nanosecond), true
}

func transactionTimeout() *pgerr.Error {
	return pgerr.New(pgerr.TransactionTimeout, "terminating connection due to transaction timeout").WithSeverity(pgerr.SevFatal)
}
