// Package journal keeps an agent's purchases in a file or in an SQL database, as its
// agent.Config.Journal:
//
//	j, err := journal.OpenFile("purchases.journal")
//	defer j.Close()
//	transport, err := agent.NewTransport(agent.Config{Journal: j, …})
//
// [File] is for one process. [SQL] is for processes that share a budget.
//
// Both contain credentials that can pay until they expire. Keep them as secret as the
// agent's access token. They contain no request and no response bodies.
package journal
