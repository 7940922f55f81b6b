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
//	GET  /v1/faults, PUT /v1/faults         Faults, SetFaults
//	GET  /v1/totals                         Totals
//	GET  /healthz                           whether the file can be read; asks for no key
//
// A refused card is an answer with status 200; every other status carries a code
// and a message. A lost answer is a broken connection: the handler panics with
// [http.ErrAbortHandler]. The listener is the caller's, and its http.Server
// bounds how long a request may take to arrive.
func (p *Processor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/customers", p.guard(withBody(p.CreateCustomer)))
	mux.Handle("POST /v1/payment_methods", p.guard(withBody(p.CreateMethod)))
	mux.Handle("POST /v1/payments", p.guard(withBody(p.Pay)))
	mux.Handle("GET /v1/payments/{reference}", p.guard(withReference(p.Payment)))
	mux.Handle("POST /v1/payments/{reference}/capture", p.guard(withReference(p.Capture)))
	mux.Handle("POST /v1/payments/{reference}/void", p.guard(withReference(p.Void)))
	mux.Handle("PUT /v1/faults", p.guard(withBody(func(_ context.Context, f Faults) (Faults, error) { return f, p.SetFaults(f) })))
	mux.Handle("GET /v1/faults", p.guard(withNothing(func(context.Context) (Faults, error) { return p.Faults(), nil })))
	mux.Handle("GET /v1/totals", p.guard(withNothing(p.Totals)))
	mux.Handle("GET /healthz", withNothing(p.health))
	return mux
}

// guard wants the key, where there is one.
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

// withBody serves a call that takes a JSON object.
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

// withReference serves a call that takes the reference of the path.
func withReference[Out any](call func(context.Context, string) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := call(r.Context(), r.PathValue("reference"))
		answerWith(w, out, err)
	})
}

// withNothing serves a call that takes nothing.
func withNothing[Out any](call func(context.Context) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := call(r.Context())
		answerWith(w, out, err)
	})
}

// decode reads a body: JSON by its type, strict, of at most 64 KiB.
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
		panic(http.ErrAbortHandler) // breaks the connection, as lost answers do
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
	if err != nil { // a text of the database that is no UTF-8
		status, data = http.StatusInternalServerError, []byte(`{"code":"internal_error","message":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller is gone where this fails, and asks again
}

// health is the answer of GET /healthz.
type health struct {
	Status string `json:"status"`
}

func (p *Processor) health(ctx context.Context) (health, error) {
	if _, err := p.db.payment(ctx, "health"); err != nil && !errors.Is(err, ErrUnknownPayment) {
		return health{}, fmt.Errorf("read file: %w: %w", ErrUnavailable, err)
	}
	return health{Status: "ok"}, nil
}
