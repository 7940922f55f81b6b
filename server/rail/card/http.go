package card

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
)

// idleConnections is the maximum number of idle connections to a processor.
const idleConnections = 64

// HTTPConfig configures [NewHTTP].
type HTTPConfig struct {
	// BaseURL is the http or https address of the processor's handler. Required.
	BaseURL string
	// Key is the processor's key. Default: none is sent.
	Key Key
	// Client sends the requests. Redirects are not followed. Only the contexts limit the
	// time of a call. Default: a client that uses no proxy.
	Client *http.Client
}

func (c HTTPConfig) validate() (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("card: BaseURL: %w", err)
	}
	plain := base.User == nil && base.RawQuery == "" && base.Fragment == ""
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || !plain {
		return nil, errors.New("card: BaseURL: must be http(s)://host[:port][/path]")
	}
	return base, nil
}

// HTTP is a [Gateway] to a processor in another process. Its methods return the errors of
// [Processor]. If anything else goes wrong, they return [ErrUnavailable] or ctx's error:
// the work may have been done. It never repeats a request that changes something. It is
// safe for concurrent use.
type HTTP struct {
	base   *url.URL
	key    Key
	client *http.Client
	own    bool // the client was created by NewHTTP
}

// NewHTTP returns a gateway to the processor at a URL. It performs no I/O. The returned
// error names the invalid field.
func NewHTTP(config HTTPConfig) (*HTTP, error) {
	base, err := config.validate()
	if err != nil {
		return nil, err
	}
	h := &HTTP{base: base, key: config.Key}
	if config.Client == nil {
		h.own = true
		h.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConnections}}
	} else {
		copied := *config.Client
		h.client = &copied
	}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h, nil
}

// Close closes idle connections, unless the client was configured. The error is always nil.
// It may be called twice.
func (h *HTTP) Close() error {
	if h.own {
		h.client.CloseIdleConnections()
	}
	return nil
}

// CreateCustomer calls [Processor.CreateCustomer].
func (h *HTTP) CreateCustomer(ctx context.Context, params CustomerParams) (Customer, error) {
	return call[Customer](ctx, h, http.MethodPost, "/v1/customers", params)
}

// CreateMethod calls [Processor.CreateMethod].
func (h *HTTP) CreateMethod(ctx context.Context, params MethodParams) (Method, error) {
	return call[Method](ctx, h, http.MethodPost, "/v1/payment_methods", params)
}

// Pay calls [Processor.Pay].
func (h *HTTP) Pay(ctx context.Context, params PaymentParams) (Payment, error) {
	return call[Payment](ctx, h, http.MethodPost, "/v1/payments", params)
}

// Authorize calls [Processor.Authorize].
func (h *HTTP) Authorize(ctx context.Context, params PaymentParams) (Payment, error) {
	return call[Payment](ctx, h, http.MethodPost, "/v1/authorizations", params)
}

// CaptureHeld calls [Processor.CaptureHeld].
func (h *HTTP) CaptureHeld(ctx context.Context, params CaptureParams) (Payment, error) {
	return call[Payment](ctx, h, http.MethodPost, "/v1/captures", params)
}

// Refund calls [Processor.Refund].
func (h *HTTP) Refund(ctx context.Context, params RefundParams) (Refund, error) {
	return call[Refund](ctx, h, http.MethodPost, "/v1/refunds", params)
}

// FindRefund calls [Processor.FindRefund].
func (h *HTTP) FindRefund(ctx context.Context, reference string) (Refund, error) {
	return byPath[Refund](ctx, h, http.MethodGet, "/v1/refunds/", reference, "")
}

// Capture calls [Processor.Capture].
func (h *HTTP) Capture(ctx context.Context, reference string) (Payment, error) {
	return byPath[Payment](ctx, h, http.MethodPost, "/v1/payments/", reference, "/capture")
}

// Void calls [Processor.Void].
func (h *HTTP) Void(ctx context.Context, reference string) (Payment, error) {
	return byPath[Payment](ctx, h, http.MethodPost, "/v1/payments/", reference, "/void")
}

// Payment calls [Processor.Payment].
func (h *HTTP) Payment(ctx context.Context, reference string) (Payment, error) {
	return byPath[Payment](ctx, h, http.MethodGet, "/v1/payments/", reference, "")
}

// SetFaults calls [Processor.SetFaults].
func (h *HTTP) SetFaults(ctx context.Context, f Faults) error {
	_, err := call[Faults](ctx, h, http.MethodPut, "/v1/faults", f)
	return err
}

// Totals calls [Processor.Totals].
func (h *HTTP) Totals(ctx context.Context) (Totals, error) {
	return call[Totals](ctx, h, http.MethodGet, "/v1/totals", nil)
}

// byPath makes a call with a reference in the path.
func byPath[Out any](ctx context.Context, h *HTTP, method, collection, reference, rest string) (Out, error) {
	if err := validReference(reference); err != nil {
		var none Out
		return none, err
	}
	return call[Out](ctx, h, method, collection+reference+rest, nil)
}

// call sends one request and reads its response.
func call[Out any](ctx context.Context, h *HTTP, method, path string, body any) (Out, error) {
	var out Out
	request, err := h.request(ctx, method, path, body)
	if err != nil {
		return out, fmt.Errorf("make request: %w", err)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return out, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close() // what is needed was read
	data, err := readAnswer(response)
	if err != nil {
		return out, fmt.Errorf("%w: %s %s: status %d: %w", ErrUnavailable, method, path, response.StatusCode, err)
	}
	if response.StatusCode != http.StatusOK {
		return out, refusal(response.StatusCode, data)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		var none Out
		return none, fmt.Errorf("%w: %s %s: read answer: %w", ErrUnavailable, method, path, err)
	}
	return out, nil
}

func (h *HTTP) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(data)
	}
	target := strings.TrimSuffix(h.base.String(), "/") + path
	request, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", jsonType)
	}
	if h.key != "" {
		request.Header.Set("Authorization", "Bearer "+h.key.Reveal())
	}
	return request, nil
}

// readAnswer reads a body that is JSON by its type, of at most 64 KiB.
func readAnswer(response *http.Response) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(data) > maxBody {
		return nil, fmt.Errorf("answer of more than %d bytes", maxBody)
	}
	if media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || media != jsonType {
		return nil, errors.New("the answer is not JSON")
	}
	return data, nil
}

// refusal returns the error of a response that is not 200. If the processor did not send
// it, the outcome is unknown.
func refusal(status int, data []byte) error {
	var body errorBody
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("%w: status %d: read error: %w", ErrUnavailable, status, err)
	}
	known := fromWire(status, body.Code)
	if known == nil {
		known = ErrUnavailable
	}
	return fmt.Errorf("%w (status %d, %q: %q)", known, status, body.Code, body.Message)
}
