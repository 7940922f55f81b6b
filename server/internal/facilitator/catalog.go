package facilitator

import (
	"net/http"

	"github.com/paywarrant/paywarrant/x402"
)

// extensionResponse is the result of an extension of a settled payment.
type extensionResponse struct {
	Status         string `json:"status"`
	RejectedReason string `json:"rejectedReason,omitempty"`
}

// The states of an extension.
const (
	extensionProcessing = "processing"
	extensionRejected   = "rejected"
)

// list has a settled resource listed that declares itself to directories. The payment is good
// whatever the outcome, which the header EXTENSION-RESPONSES has.
func (f *Facilitator) list(w http.ResponseWriter, p payment) {
	if f.config.Paid == nil || p.bazaar == nil {
		return
	}
	said := extensionResponse{Status: extensionProcessing}
	if problem := f.config.Paid(p.described, p.accepted, *p.bazaar); problem != "" {
		said = extensionResponse{Status: extensionRejected, RejectedReason: problem}
	}
	value, err := x402.EncodeHeader(map[string]extensionResponse{x402.ExtensionBazaar: said})
	if err == nil {
		w.Header().Set(x402.HeaderExtensionResponse, value)
	}
}

// extensions returns the names of the extensions that are read.
func (f *Facilitator) extensions() []string {
	if f.config.Paid == nil {
		return []string{}
	}
	return []string{x402.ExtensionBazaar}
}
