package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/store"
)

// device is an authenticator with one passkey. Its fields are changed to make answers that are
// refused.
type device struct {
	key          *ecdsa.PrivateKey
	id           []byte
	count        uint32
	flags        byte
	origin, rpID string
	user         string // the handle of the account
	challenge    string // answered instead of the service's
}

const userVerified = 0x05 // and present

func newDevice(t *testing.T, b *tab) *device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	u, err := url.Parse(b.srv.URL)
	require.NoError(t, err)
	return &device{key: key, id: []byte(rand.Text()), count: 1, flags: userVerified, origin: "http://localhost:" + u.Port(), rpID: "localhost"}
}

// askPasskey asks for options as the script does.
func (b *tab) askPasskey(path string, form url.Values) (options map[string]any, problem string) {
	b.t.Helper()
	p := b.post(path, form)
	require.Equal(b.t, "application/json", p.Header.Get("Content-Type"), p.Text)
	var answer struct {
		Options map[string]any
		Problem string
	}
	require.NoError(b.t, json.Unmarshal([]byte(p.Text), &answer))
	return answer.Options, answer.Problem
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (d *device) clientData(t *testing.T, kind string, options map[string]any) []byte {
	t.Helper()
	challenge := options["challenge"]
	if d.challenge != "" {
		challenge = d.challenge
	}
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": d.origin, "crossOrigin": false})
	require.NoError(t, err)
	return text
}

func (d *device) authenticatorData(flags byte) []byte {
	hash := sha256.Sum256([]byte(d.rpID))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), d.count)
}

func (d *device) answer(t *testing.T, response map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"id": b64(d.id), "rawId": b64(d.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response,
	})
	require.NoError(t, err)
	return string(text)
}

// create answers the options for a passkey that is added.
func (d *device) create(t *testing.T, options map[string]any) string {
	t.Helper()
	d.user = options["user"].(map[string]any)["id"].(string)
	point, err := d.key.PublicKey.Bytes()
	require.NoError(t, err)
	cose, err := webauthncbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	require.NoError(t, err)
	data := append(d.authenticatorData(d.flags|0x40), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(d.id))), d.id...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": append(data, cose...)})
	require.NoError(t, err)
	return d.answer(t, map[string]any{"clientDataJSON": b64(d.clientData(t, "webauthn.create", options)), "attestationObject": b64(object)})
}

// get answers the options of a sign-in.
func (d *device) get(t *testing.T, options map[string]any) string {
	t.Helper()
	data, client := d.authenticatorData(d.flags), d.clientData(t, "webauthn.get", options)
	sum := sha256.Sum256(client)
	digest := sha256.Sum256(append(data[:len(data):len(data)], sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, digest[:])
	require.NoError(t, err)
	return d.answer(t, map[string]any{
		"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": d.user,
	})
}

// addPasskey adds the passkey of a device to the merchant of a tab.
func (b *tab) addPasskey(d *device, name string) page {
	b.t.Helper()
	form := url.Values{"name": {name}}
	options, problem := b.askPasskey("/dashboard/passkeys/options", form)
	require.Empty(b.t, problem)
	form.Set("answer", d.create(b.t, options))
	return b.post("/dashboard/passkeys", form)
}

// signInByPasskey signs in with a device.
func (b *tab) signInByPasskey(d *device) page {
	b.t.Helper()
	options, problem := b.askPasskey("/dashboard/sign-in/passkey/options", nil)
	require.Empty(b.t, problem)
	d.count++
	return b.post("/dashboard/sign-in/passkey", url.Values{"answer": {d.get(b.t, options)}})
}

// withPasskey returns a tab whose merchant has the passkey of a device.
func withPasskey(t *testing.T) (*tab, *device, store.Store) {
	t.Helper()
	var db store.Store
	b := merchantTab(t, func(c *server.Config) { db = c.Store })
	d := newDevice(t, b)
	require.Contains(t, b.addPasskey(d, "Laptop").Text, "Laptop")
	return b, d, db
}

// mailed waits for a message with a subject.
func (b *tab) mailed(subject string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		for _, m := range b.srv.Mails() {
			if m.Subject == subject && m.To == "ada@acme.example" {
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond)
}

// mailOf returns the text of the messages with a subject.
func (b *tab) mailOf(subject string) (text string) {
	for _, m := range b.srv.Mails() {
		if m.Subject == subject {
			text += m.Text
		}
	}
	return text
}

// audited returns how often the audit log has an action.
func audited(t *testing.T, db store.Store, action string) (n int) {
	t.Helper()
	all, err := db.AuditLog(t.Context(), "", "", 100)
	require.NoError(t, err)
	for _, e := range all {
		if e.Action == action {
			n++
		}
	}
	return n
}

// TestPasskeySignsInUntilItIsRemoved: the way of a passkey, beside codes. Each change is mailed
// and audited, and the removal signs out who was signed in by it.
func TestPasskeySignsInUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	b, d, db := withPasskey(t)
	b.mailed("A passkey was added to your account")
	other := openTab(t, b.srv)
	require.Equal(t, "/dashboard", other.signInByPasskey(d).Path)
	require.Contains(t, other.get("/dashboard/passkeys").Text, "Valid")

	remove := "/dashboard/passkeys/" + b64(d.id) + "/remove"
	require.Equal(t, "/dashboard/passkeys", b.post(remove, nil).Path)
	require.Equal(t, "/dashboard/passkeys", b.post(remove, nil).Path, "a form that is sent twice")
	b.mailed("A passkey was removed from your account")
	require.Equal(t, "/dashboard/sign-in", other.get("/dashboard").Path, "the other browser is signed out")
	require.Contains(t, other.signInByPasskey(d).Text, "does not sign in here")
	require.Equal(t, "/dashboard", b.get("/dashboard").Path, "this one is not")
	require.Equal(t, "/dashboard", openTab(t, b.srv).signIn("ada@acme.example").Path, "codes still work")
	require.Equal(t, []int{1, 1}, []int{audited(t, db, "passkey.add"), audited(t, db, "passkey.remove")})
}

// TestPasskeyIsNoFreshCode: who signs in by a passkey, perhaps a copied one, gets no key and moves
// no wallet without a code.
func TestPasskeyIsNoFreshCode(t *testing.T) {
	t.Parallel()
	b, d, _ := withPasskey(t)
	other := openTab(t, b.srv)
	require.Equal(t, "/dashboard", other.signInByPasskey(d).Path)
	for path, form := range map[string]url.Values{
		"/dashboard/keys": {"label": {"Shop"}}, "/dashboard/tokens": {"name": {"Agent"}}, "/dashboard/settings/wallet": {"payTo": {agentsWallet}},
		"/dashboard/webhooks": {"url": {"https://shop.example/hook"}}, "/dashboard/passkeys/options": nil,
	} {
		p := other.post(path, form)
		require.Equal(t, http.StatusForbidden, p.Status, path)
		require.Contains(t, p.Text, "Confirm that it is you", path)
	}
}

// TestPasskeysNeedAFreshCode: to add and to remove.
func TestPasskeysNeedAFreshCode(t *testing.T) {
	t.Parallel()
	b, d, _ := withPasskey(t)
	b.srv.Clock.Advance(11 * time.Minute)
	for _, path := range []string{"/dashboard/passkeys/options", "/dashboard/passkeys", "/dashboard/passkeys/" + b64(d.id) + "/remove"} {
		p := b.post(path, url.Values{"name": {"Phone"}})
		require.Equal(t, http.StatusForbidden, p.Status, path)
		require.Contains(t, p.Text, "Confirm that it is you")
	}
	require.Contains(t, b.get("/dashboard/passkeys").Text, "Laptop")
}

// TestAnswersOfPasskeysAreRefused: those of another origin, service, challenge, user or key, and
// those without a check of the person.
func TestAnswersOfPasskeysAreRefused(t *testing.T) {
	t.Parallel()
	b, right, _ := withPasskey(t)
	stranger := newDevice(t, b)
	for name, change := range map[string]func(d *device){
		"another origin":       func(d *device) { d.origin = "https://evil.example" },
		"another port":         func(d *device) { d.origin = "http://localhost:1" },
		"another service":      func(d *device) { d.rpID = "evil.example" },
		"another challenge":    func(d *device) { d.challenge = b64(make([]byte, 32)) },
		"another account":      func(d *device) { d.user = b64([]byte("mer_another")) },
		"another key":          func(d *device) { d.key = stranger.key },
		"an unknown passkey":   func(d *device) { d.id = stranger.id },
		"an unverified person": func(d *device) { d.flags = 0x01 },
		"an absent person":     func(d *device) { d.flags = 0x04 },
	} {
		t.Run(name, func(t *testing.T) {
			wrong := *right
			change(&wrong)
			fresh := openTab(t, b.srv)
			p := fresh.signInByPasskey(&wrong)
			require.Equal(t, http.StatusUnprocessableEntity, p.Status)
			require.Contains(t, p.Text, "does not sign in here")
			require.Equal(t, "/dashboard/sign-in", fresh.get("/dashboard").Path)
			if wrong.id = []byte(rand.Text()); name != "another key" && name != "an unknown passkey" && name != "another account" {
				require.Contains(t, b.addPasskey(&wrong, "Phone").Text, "is no passkey for this service")
			}
		})
	}
	right.count = 100
	require.Equal(t, "/dashboard", openTab(t, b.srv).signInByPasskey(right).Path, "the right one is not ended by wrong ones")
}

// TestAnswerOfAPasskeyIsUsedOnce: in the browser that asked, and soon.
func TestAnswerOfAPasskeyIsUsedOnce(t *testing.T) {
	t.Parallel()
	b, d, _ := withPasskey(t)
	fresh := openTab(t, b.srv)
	options, _ := fresh.askPasskey("/dashboard/sign-in/passkey/options", nil)
	d.count++
	answer := url.Values{"answer": {d.get(t, options)}}
	stolen := openTab(t, b.srv)
	require.Contains(t, stolen.post("/dashboard/sign-in/passkey", answer).Text, "the form was sent twice")
	stolen.askPasskey("/dashboard/sign-in/passkey/options", nil)
	require.Contains(t, stolen.post("/dashboard/sign-in/passkey", answer).Text, "does not sign in here", "another browser's challenge")
	require.Equal(t, "/dashboard", fresh.post("/dashboard/sign-in/passkey", answer).Path)
	fresh.post("/dashboard/sign-out", nil)
	require.Contains(t, fresh.post("/dashboard/sign-in/passkey", answer).Text, "the form was sent twice")

	options, _ = fresh.askPasskey("/dashboard/sign-in/passkey/options", nil)
	d.count++
	late := url.Values{"answer": {d.get(t, options)}}
	b.srv.Clock.Advance(5 * time.Minute)
	require.Contains(t, fresh.post("/dashboard/sign-in/passkey", late).Text, "took too long")
	require.Contains(t, openTab(t, b.srv).post("/dashboard/sign-in/passkey", nil).Text, "took too long")
	require.Equal(t, "/dashboard/sign-in", stolen.get("/dashboard").Path)
}

// TestCopiedPasskeyIsEnded: a count that does not grow ends it, for the copy and the original.
func TestCopiedPasskeyIsEnded(t *testing.T) {
	t.Parallel()
	b, d, _ := withPasskey(t)
	d.count = 7
	require.Equal(t, "/dashboard", openTab(t, b.srv).signInByPasskey(d).Path)
	d.count = 4
	require.Contains(t, openTab(t, b.srv).signInByPasskey(d).Text, "There may be a copy of this passkey")
	b.mailed("A passkey of your account was refused")
	d.count = 20
	require.Contains(t, openTab(t, b.srv).signInByPasskey(d).Text, "does not sign in here")
	require.Contains(t, b.get("/dashboard/passkeys").Text, "there may be a copy")
}

// TestPasskeyEndsWithTheAddress: who took over an account by its address loses it with that.
func TestPasskeyEndsWithTheAddress(t *testing.T) {
	t.Parallel()
	b, d, db := withPasskey(t)
	all, err := db.MerchantsByEmail(t.Context(), "ada@acme.example", 1)
	require.NoError(t, err)
	require.NoError(t, db.SetMerchantEmail(t.Context(), all[0].ID, "bob@acme.example"))
	require.Contains(t, openTab(t, b.srv).signInByPasskey(d).Text, "does not sign in here")
	later := openTab(t, b.srv)
	require.Equal(t, "/dashboard", later.signIn("bob@acme.example").Path)
	require.Contains(t, later.get("/dashboard/passkeys").Text, "of an earlier address")
}

// TestPasskeyOfAnotherMerchantDoesNotExist: it is neither listed nor removed, nor added twice.
func TestPasskeyOfAnotherMerchantDoesNotExist(t *testing.T) {
	t.Parallel()
	b, d, _ := withPasskey(t)
	_, err := b.srv.CreateMerchant(t.Context(), server.MerchantParams{Name: "Eve", Email: "eve@example.com"})
	require.NoError(t, err)
	eve := openTab(t, b.srv)
	require.Equal(t, "/dashboard", eve.signIn("eve@example.com").Path)
	require.NotContains(t, eve.get("/dashboard/passkeys").Text, "Laptop")
	eve.post("/dashboard/passkeys/"+b64(d.id)+"/remove", nil)
	own := *d
	require.Contains(t, eve.addPasskey(&own, "Mine").Text, "is no passkey for this service")
	require.Equal(t, "/dashboard", openTab(t, b.srv).signInByPasskey(d).Path)
}

func TestPasskeysHaveNames(t *testing.T) {
	t.Parallel()
	b, d, _ := withPasskey(t)
	options, _ := b.askPasskey("/dashboard/passkeys/options", url.Values{"name": {"Phone"}})
	require.Len(t, options["excludeCredentials"], 1, "the same device makes no second one")
	for name, problem := range map[string]string{"": "Name the passkey", "Laptop": "of this name", strings.Repeat("a", 61): "The name"} {
		_, said := b.askPasskey("/dashboard/passkeys/options", url.Values{"name": {name}})
		require.Contains(t, said, problem)
		p := b.post("/dashboard/passkeys", url.Values{"name": {name}, "answer": {d.create(t, maps.Clone(options))}})
		require.Equal(t, http.StatusUnprocessableEntity, p.Status)
	}
}

// TestPasskeysAreAskedForInMeasure: as codes, from one network.
func TestPasskeysAreAskedForInMeasure(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	fresh := openTab(t, b.srv)
	for range 250 {
		if _, problem := fresh.askPasskey("/dashboard/sign-in/passkey/options", nil); problem != "" {
			require.Contains(t, problem, "too often from your network")
			return
		}
	}
	require.Fail(t, "there is no limit")
}
