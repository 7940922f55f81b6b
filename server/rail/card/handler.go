package card

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// Handler serves the processor over HTTP, in JSON:
//
//	POST /v1/customers                      CreateCustomer
//	POST /v1/payment_methods                CreateMethod
//	POST /v1/payments                       Pay
//	GET  /v1/payments/{reference}           Payment
//	POST /v1/payments/{reference}/capture   Capture
//	POST /v1/payments/{reference}/void      Void
//	POST /v1/authorizations                 Authorize
//	POST /v1/captures                       CaptureHeld
//	POST /v1/refunds                        Refund
//	GET  /v1/refunds/{reference}            FindRefund
//	GET  /v1/movements                      Moved
//	GET  /v1/faults, PUT /v1/faults         Faults, SetFaults
//	GET  /v1/totals                         Totals
//	GET  /healthz                           whether the file is readable; needs no key
//
// A refused card, capture or refund has the status 200. Every other status comes with a code and a message. A
// lost response closes the connection: the handler panics with [http.ErrAbortHandler]. The
// caller's http.Server must limit how long a request may take to arrive.
func (p *Processor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/customers", p.guard(withBody(p.CreateCustomer)))
	mux.Handle("POST /v1/payment_methods", p.guard(withBody(p.CreateMethod)))
	mux.Handle("POST /v1/payments", p.guard(withBody(p.Pay)))
	mux.Handle("GET /v1/payments/{reference}", p.guard(withReference(p.Payment)))
	mux.Handle("POST /v1/payments/{reference}/capture", p.guard(withReference(p.Capture)))
	mux.Handle("POST /v1/payments/{reference}/void", p.guard(withReference(p.Void)))
	mux.Handle("POST /v1/authorizations", p.guard(withBody(p.Authorize)))
	mux.Handle("POST /v1/captures", p.guard(withBody(p.CaptureHeld)))
	mux.Handle("POST /v1/refunds", p.guard(withBody(p.Refund)))
	mux.Handle("GET /v1/refunds/{reference}", p.guard(withReference(p.FindRefund)))
	mux.Handle("GET "+movedPath, p.guard(http.HandlerFunc(p.moved)))
	mux.Handle("PUT /v1/faults", p.guard(withBody(func(_ context.Context, f Faults) (Faults, error) { return f, p.SetFaults(f) })))
	mux.Handle("GET /v1/faults", p.guard(withNothing(func(context.Context) (Faults, error) { return p.Faults(), nil })))
	mux.Handle("GET /v1/totals", p.guard(withNothing(p.Totals)))
	mux.Handle("GET /healthz", withNothing(p.health))
	return mux
}

// guard requires the key if one is configured.
func (p *Processor) guard(next http.Handler) http.Handler {
	if p.key == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !p.key.admits(token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			write401(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func write401(w http.ResponseWriter) {
	respond(w, http.StatusUnauthorized, errorBody{Code: "unauthorized", Message: "the bearer token is missing or wrong"})
}

// withBody serves a call with a JSON body.
func withBody[In, Out any](call func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if status, err := decode(w, r, &in); err != nil {
			respond(w, status, errorBody{Code: "malformed_request", Message: err.Error()})
			return
		}
		out, err := call(r.Context(), in)
		answerWith(w, out, err)
	})
}

// withReference serves a call with a reference in its path.
func withReference[Out any](call func(context.Context, string) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := call(r.Context(), r.PathValue("reference"))
		answerWith(w, out, err)
	})
}

// withNothing serves a call without parameters.
func withNothing[Out any](call func(context.Context) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := call(r.Context())
		answerWith(w, out, err)
	})
}

// decode reads a body strictly: JSON by its type, at most 64 KiB.
func decode(w http.ResponseWriter, r *http.Request, into any) (status int, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != jsonType {
		return http.StatusUnsupportedMediaType, errors.New("the content type must be " + jsonType)
	}
	err = json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxBody), into)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes", maxBody)
	}
	if err != nil {
		return http.StatusBadRequest, fmt.Errorf("read body: %w", err)
	}
	return http.StatusOK, nil
}

func answerWith(w http.ResponseWriter, out any, err error) {
	if errors.Is(err, errLost) {
		panic(http.ErrAbortHandler) // closes the connection, as a lost response does
	}
	if err == nil {
		respond(w, http.StatusOK, out)
		return
	}
	known := onWire(err)
	body := errorBody{Code: known.code, Message: "the processor could not do it"}
	if known.err != nil {
		body.Message = err.Error()
	}
	respond(w, known.status, body)
}

func respond(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil { // the database contains invalid UTF-8
		status, data = http.StatusInternalServerError, []byte(`{"code":"internal_error","message":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // if this fails, the caller is gone and will repeat the call
}

// health is the response to GET /healthz.
type health struct {
	Status string `json:"status"`
}

func (p *Processor) health(ctx context.Context) (health, error) {
	if _, err := p.db.payment(ctx, "health"); err != nil && !errors.Is(err, ErrUnknownPayment) {
		return health{}, fmt.Errorf("read file: %w: %w", ErrUnavailable, err)
	}
	return health{Status: "ok"}, nil
}
