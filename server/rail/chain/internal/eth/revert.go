package eth

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// RevertError reports a call that a contract refused.
type RevertError struct {
	// Data is the contract's error, ABI-encoded.
	Data []byte

	cause error
}

func (e *RevertError) Error() string { return "call reverts: " + e.cause.Error() }

// Unwrap returns the node's error.
func (e *RevertError) Unwrap() error { return e.cause }

// AsRevert returns a [*RevertError] if the error is a contract's refusal, and the
// error itself if the node failed.
func AsRevert(err error) error {
	var withData rpc.DataError
	if !errors.As(err, &withData) {
		return err
	}
	text, ok := withData.ErrorData().(string)
	if !ok {
		return err
	}
	data, decodeErr := hexutil.Decode(text)
	if decodeErr != nil {
		return err
	}
	return &RevertError{Data: data, cause: err}
}

// Codes of JSON-RPC errors.
const (
	codeReverted  = 3      // geth, reth, Erigon, Besu: execution reverted, with data
	codeExecution = -32015 // Nethermind, OpenEthereum: the EVM stopped the call
	codeServer    = -32000 // anything else: only the text says what
)

// halts are the EVM's exceptional halts as several clients name them, without spaces
// and in lower case.
var halts = []string{
	"executionreverted", "outofgas", "gasuintoverflow", "invalidopcode", "opcodenotfound", "badinstruction", "stackunderflow",
	"stackoverflow", "stacklimit", "invalidjump", "returndataoutofbounds", "writeprotection", "statechangeduringstaticcall",
}

// IsAnswer reports whether an error means that the contract failed, rather than the
// node. It uses the code and data of the JSON-RPC error, and the text only for the
// code that any failure can have.
func IsAnswer(err error) bool {
	var refusal *RevertError
	if errors.As(AsRevert(err), &refusal) {
		return true
	}
	var coded rpc.Error
	if !errors.As(err, &coded) {
		return false
	}
	switch coded.ErrorCode() {
	case codeReverted, codeExecution:
		return true
	case codeServer:
		text := strings.ToLower(strings.ReplaceAll(coded.Error(), " ", ""))
		for _, halt := range halts {
			if strings.Contains(text, halt) {
				return true
			}
		}
	}
	return false
}
