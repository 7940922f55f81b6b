package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/devchain"
)

// moment is where in the life of a broadcast the service is killed.
type moment string

const (
	// notSent: the service has stored the transaction; the node never sees it.
	notSent moment = "stored, not sent"
	// notAnswered: the node has it, the service does not know that.
	notAnswered moment = "sent, not answered"
	// lost: the node said that it has it, and forgot it.
	lost moment = "sent, lost by the network"
	// inNoBlock: it waits at the node, and still does when the service is back.
	inNoBlock moment = "sent, in no block"
	// notRead: it is in a block, and the service has not seen the receipt.
	notRead moment = "in a block, receipt not read"
	// read: the service has just been given the receipt.
	read moment = "receipt read"
	// anywhere is a moment of chance.
	anywhere moment = "at random"
)

// labelled are the moments that the node can recognize.
var labelled = []moment{notSent, notAnswered, lost, inNoBlock, notRead, read}

// node stands between the service and its chain, sees every call, and says when a
// moment has come.
type node struct {
	*httptest.Server

	chain *devchain.Chain

	mu      sync.Mutex
	armed   moment
	begun   bool   // a moment that takes two calls has had its first
	release func() // lets the chain make blocks again
	reached chan struct{}
	killed  chan struct{}
	taker   func(*types.Transaction) bool
}

// startNode starts a chain, whose clock may run ahead as blocks follow each other,
// and what stands before it.
func startNode() (*node, error) {
	chain, err := devchain.Start(devchain.Config{MaxLead: maxLead})
	if err != nil {
		return nil, err
	}
	n := &node{chain: chain}
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	return n, nil
}

func (n *node) stop() error {
	n.goOn()
	n.Close()
	return n.chain.Close()
}

// arm waits for a moment: reached is closed when it has come, and the service is
// held there until killed is closed.
func (n *node) arm(m moment) (reached <-chan struct{}, killed chan<- struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed, n.begun, n.reached, n.killed = m, false, make(chan struct{}), make(chan struct{})
	return n.reached, n.killed
}

// goOn lets the chain make blocks, if it was held.
func (n *node) goOn() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.release != nil {
		n.release()
		n.release = nil
	}
}

// call is a JSON-RPC request.
type call struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (n *node) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		return
	}
	var c call
	_ = json.Unmarshal(body, &c) // a batch is passed on
	if n.before(c) {
		return
	}
	if c.Method == "eth_sendRawTransaction" && n.taken(w, c) {
		return
	}
	answer, err := n.forward(r.Context(), body)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if n.between(c, answer) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
	_ = http.NewResponseController(w).Flush()
	if c.Method == "eth_getTransactionReceipt" && found(answer) {
		n.come(read)
	}
}

// before handles the moments that come before the chain is asked; true where the
// service is gone.
func (n *node) before(c call) bool {
	n.mu.Lock()
	second := n.begun
	n.mu.Unlock()
	switch {
	case c.Method == "eth_sendRawTransaction" && n.come(notSent):
		return true
	case c.Method == "eth_sendRawTransaction" && n.is(inNoBlock):
		n.begin(n.chain.Hold)
	case second && c.Method == "eth_getTransactionReceipt":
		return n.come(inNoBlock) || n.come(lost)
	}
	return false
}

// between handles those that come between the chain's answer and the service's
// hearing it.
func (n *node) between(c call, answer []byte) bool {
	switch {
	case c.Method == "eth_sendRawTransaction":
		return n.come(notAnswered)
	case c.Method == "eth_getTransactionReceipt" && found(answer):
		return n.come(notRead)
	}
	return false
}

// begin notes the first call of a moment that takes two, once.
func (n *node) begin(hold func() func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun {
		n.begun, n.release = true, hold()
	}
}

func (n *node) is(m moment) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.armed == m
}

// come reports that a moment has come, if it is the one that is waited for, and
// returns when the service is gone.
func (n *node) come(m moment) bool {
	n.mu.Lock()
	if n.armed != m {
		n.mu.Unlock()
		return false
	}
	n.armed = ""
	close(n.reached)
	killed := n.killed
	n.mu.Unlock()
	<-killed
	return true
}

// take has each transaction shown to a function before the chain has it: where it
// returns true, the chain never does, and the service sees that it was accepted. What
// take returns ends it.
func (n *node) take(taker func(*types.Transaction) bool) (end func()) {
	set := func(f func(*types.Transaction) bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.taker = f
	}
	set(taker)
	return func() { set(nil) }
}

// taken answers for a transaction that the chain is not to have.
func (n *node) taken(w http.ResponseWriter, c call) bool {
	var raw hexutil.Bytes
	var tx types.Transaction
	if len(c.Params) != 1 || json.Unmarshal(c.Params[0], &raw) != nil || tx.UnmarshalBinary(raw) != nil {
		return false
	}
	n.mu.Lock()
	taker := n.taker
	n.mu.Unlock()
	switch {
	case n.is(lost):
		n.begin(func() func() { return nil })
	case taker == nil || !taker(&tx):
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": tx.Hash()})
	return true
}

// found reports whether an answer has a result.
func found(answer []byte) bool {
	var a struct{ Result json.RawMessage }
	return json.Unmarshal(answer, &a) == nil && len(a.Result) > 0 && string(a.Result) != "null"
}

func (n *node) forward(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.chain.RPCURL(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
