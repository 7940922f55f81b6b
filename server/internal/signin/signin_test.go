package signin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ada = "ada@example.com"

type fixture struct {
	*signin.Service

	now  *atomic.Int64
	mail []string // ids of codes
}

func setup(t *testing.T, change func(*signin.Config)) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	f := &fixture{now: &atomic.Int64{}}
	f.now.Store(time.Now().UnixMilli())
	cfg := signin.Config{
		Store: db, Secret: []byte("0123456789abcdef0123456789abcdef"), BaseURL: "http://127.0.0.1",
		Clock: func() time.Time { return time.UnixMilli(f.now.Load()).UTC() },
		Post:  func(_ context.Context, id string) { f.mail = append(f.mail, id) },
		Known: func(_ context.Context, _ signin.Purpose, email string) (bool, error) {
			return email != "stranger@example.com", nil
		},
	}
	if change != nil {
		change(&cfg)
	}
	f.Service, err = signin.New(cfg)
	require.NoError(t, err)
	return f
}

func (f *fixture) pass(d time.Duration) { f.now.Add(d.Milliseconds()) }

var sixDigits = regexp.MustCompile(`\d{3} \d{3}`)

// code sends a code and reads it in the message.
func (f *fixture) code(t *testing.T, c signin.Challenge) string {
	t.Helper()
	require.NoError(t, f.SendCode(t.Context(), c, "192.0.2.1"))
	return f.read(t)
}

func (f *fixture) read(t *testing.T) string {
	t.Helper()
	l, err := f.Letter(t.Context(), f.mail[len(f.mail)-1])
	require.NoError(t, err)
	return sixDigits.FindString(l.Text())
}

func other(code string) string {
	if code[0] == '9' {
		return "0" + code[1:]
	}
	return "9" + code[1:]
}

func TestCodeProvesAnAddressOnce(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.PersonSignIn, Email: " Ada@Example.com "}
	code := f.code(t, c)
	email, err := f.Check(t.Context(), c, code)
	require.NoError(t, err)
	require.Equal(t, ada, email)
	_, err = f.Check(t.Context(), c, code)
	require.ErrorIs(t, err, signin.ErrNoCode)
}

func TestCodeIsUsedByOneOfMany(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada}
	code := f.code(t, c)
	var all sync.WaitGroup
	var accepted atomic.Int32
	for range 8 {
		all.Go(func() {
			if _, err := f.Check(t.Context(), c, code); err == nil {
				accepted.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, accepted.Load())
}

func TestCodeAllowsFiveAttempts(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada}
	code := f.code(t, c)
	for left := 4; left >= 0; left-- {
		_, err := f.Check(t.Context(), c, other(code))
		var wrong *signin.WrongCodeError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, left, wrong.AttemptsLeft)
		_, err = f.Check(t.Context(), c, "12345")
		require.ErrorIs(t, err, signin.ErrMalformed, "not counted")
	}
	_, err := f.Check(t.Context(), c, code)
	require.ErrorIs(t, err, signin.ErrNoCode, "the right code comes too late")
}

func TestCodeExpiresAndIsReplaced(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada}
	first := f.code(t, c)
	second := f.code(t, c)
	if first != second {
		_, err := f.Check(t.Context(), c, first)
		require.Error(t, err)
	}
	f.pass(signin.CodeLifetime)
	_, err := f.Check(t.Context(), c, second)
	require.ErrorIs(t, err, signin.ErrNoCode)
	require.Empty(t, f.read(t), "an expired code is not mailed")
}

// TestCodeIsForOnePurposeAndBinding: a code that was mailed for one setup session must not
// confirm another, nor sign in.
func TestCodeIsForOnePurposeAndBinding(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.Setup, Email: ada, Binding: "session one"}
	code := f.code(t, c)
	bad := c
	bad.Binding = "session two"
	_, err := f.Check(t.Context(), bad, code)
	require.ErrorIs(t, err, signin.ErrNoCode)
	_, err = f.Check(t.Context(), signin.Challenge{Purpose: signin.PersonSignIn, Email: ada, Binding: "session one"}, code)
	require.ErrorIs(t, err, signin.ErrNoCode)
	_, err = f.Check(t.Context(), c, code)
	require.NoError(t, err)
}

func TestCodesOfAnAccountAndANetworkAreBounded(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada}
	for i := range signin.MaxCodes {
		require.NoError(t, f.SendCode(t.Context(), c, fmt.Sprint("network ", i)))
	}
	require.ErrorIs(t, f.SendCode(t.Context(), c, "another"), signin.ErrTooMany)
	f.pass(signin.Window + time.Second)
	require.NoError(t, f.SendCode(t.Context(), c, "another"))
	for i := range signin.MaxCodesPerNetwork {
		c.Email = fmt.Sprintf("p%d@example.com", i)
		require.NoError(t, f.SendCode(t.Context(), c, "one"))
	}
	require.ErrorIs(t, f.SendCode(t.Context(), c, "one"), signin.ErrTooMany)
	c.Email = "someone@example.com"
	require.NoError(t, f.SendCode(t.Context(), c, "two"))
}

// TestSignInsByPasskeyAndByCodeAreCountedApart: neither uses up the other's number of a network.
func TestSignInsByPasskeyAndByCodeAreCountedApart(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *signin.Config) { c.BaseURL = "https://pay.example" })
	for i := range signin.MaxPasskeysPerNetwork {
		_, err := f.AskForPasskey(t.Context(), fmt.Sprint("browser ", i), "one")
		require.NoError(t, err)
	}
	_, err := f.AskForPasskey(t.Context(), "browser", "one")
	require.ErrorIs(t, err, signin.ErrTooMany)
	require.NoError(t, f.SendCode(t.Context(), signin.Challenge{Purpose: signin.PersonSignIn, Email: ada}, "one"))
	_, err = f.AskForPasskey(t.Context(), "browser", "two")
	require.NoError(t, err)
}

// TestStrangerDoesNotLockAnAccountOut: from its own browser and network it neither replaces the
// owner's code, nor uses up the attempts at it, nor the codes of a day.
func TestStrangerDoesNotLockAnAccountOut(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	owner := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada, Binding: "the owner's browser"}
	stranger := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada, Binding: "a stranger's browser"}
	code := f.code(t, owner)
	for range signin.MaxCodesFromNetwork {
		require.NoError(t, f.SendCode(t.Context(), stranger, "a stranger's network"))
		for range signin.MaxAttempts {
			_, err := f.Check(t.Context(), stranger, other(code))
			require.Error(t, err)
		}
	}
	require.ErrorIs(t, f.SendCode(t.Context(), stranger, "a stranger's network"), signin.ErrTooMany)
	_, err := f.Check(t.Context(), stranger, code)
	require.ErrorIs(t, err, signin.ErrNoCode, "a code that was seen is worth nothing in another browser")
	email, err := f.Check(t.Context(), owner, code)
	require.NoError(t, err)
	require.Equal(t, ada, email)
	require.NoError(t, f.SendCode(t.Context(), owner, "the owner's network"))
}

// TestStrangersDoNotLockAKnownBrowserOut, from however many networks. A code that it enters gives
// it as many as before.
func TestStrangersDoNotLockAKnownBrowserOut(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	answer := httptest.NewRecorder()
	f.Remember(answer, ada)
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	for _, c := range answer.Result().Cookies() {
		require.NotContains(t, c.Value, "ada")
		r.AddCookie(c)
	}
	known := f.BrowserOf(r, ada)
	require.NotEmpty(t, known)
	require.Equal(t, known, f.BrowserOf(r, strings.ToUpper(ada)))
	require.Empty(t, f.BrowserOf(r, "bob@example.com"), "it is of one address")
	forged := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	forged.AddCookie(&http.Cookie{Name: answer.Result().Cookies()[0].Name, Value: known + "."})
	require.Empty(t, f.BrowserOf(forged, ada))

	for n := range signin.MaxCodes {
		c := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada, Binding: "a stranger's browser"}
		require.NoError(t, f.SendCode(t.Context(), c, fmt.Sprint("network ", n/signin.MaxCodesFromNetwork)))
	}
	owner := signin.Challenge{Purpose: signin.PersonSignIn, Email: ada, Binding: "the owner's session"}
	require.ErrorIs(t, f.SendCode(t.Context(), owner, "home"), signin.ErrTooMany)
	owner.Browser = known
	var code string
	for range signin.MaxCodesFromNetwork {
		code = f.code(t, owner)
	}
	require.ErrorIs(t, f.SendCode(t.Context(), owner, "home"), signin.ErrTooMany, "a browser is no way to flood a mailbox")
	_, err := f.Check(t.Context(), owner, code)
	require.NoError(t, err)
	require.NoError(t, f.SendCode(t.Context(), owner, "home"))
}

// TestUnknownAddressIsAnsweredTheSame: only the message is missing.
func TestUnknownAddressIsAnsweredTheSame(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	c := signin.Challenge{Purpose: signin.PersonSignIn, Email: "stranger@example.com"}
	require.Empty(t, f.code(t, c))
	_, err := f.Check(t.Context(), c, "000000")
	var wrong *signin.WrongCodeError
	if err != nil { // one in a million is right
		require.ErrorAs(t, err, &wrong)
	}
	require.ErrorIs(t, f.SendCode(t.Context(), signin.Challenge{Email: "no address"}, ""), signin.ErrEmail)
}

// site is a dashboard with one address for each step.
func (f *fixture) site(t *testing.T, s *signin.Sessions) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	steps := map[string]func(context.Context) error{
		"/in": func(ctx context.Context) error { return s.Begin(ctx, signin.Account{Kind: signin.Email, ID: ada}) },
		"/switch": func(ctx context.Context) error {
			return s.Switch(ctx, signin.Account{Kind: signin.Merchant, ID: "mer_1"})
		},
		"/out": s.End, "/everywhere": s.EndAll,
		"/prove": func(ctx context.Context) error { s.Prove(ctx); return nil },
	}
	for path, step := range steps {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if err := step(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a, ok := s.Account(r.Context())
		_, _ = fmt.Fprint(w, a.ID, " ", ok, " ", s.Fresh(r.Context(), 5*time.Minute))
	})
	web := httptest.NewServer(s.Handler(mux))
	t.Cleanup(web.Close)
	return web
}

type browser struct {
	*http.Client

	url string
}

func newBrowser(t *testing.T, web *httptest.Server) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return browser{&http.Client{Jar: jar}, web.URL}
}

func (b browser) get(t *testing.T, path string) (string, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, http.NoBody)
	require.NoError(t, err)
	res, err := b.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var body strings.Builder
	_, err = fmt.Fprint(&body, res.StatusCode, " ")
	require.NoError(t, err)
	data := make([]byte, 200)
	n, _ := res.Body.Read(data)
	return strings.TrimSpace(string(data[:n])), res
}

func fail(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

func TestSessionEndsIdleAndAfterItsLifetime(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	b := newBrowser(t, f.site(t, f.Sessions("me", fail, signin.Email)))
	look := func() string { text, _ := b.get(t, "/"); return text }
	require.Equal(t, "false false", look())
	b.get(t, "/in")
	require.Equal(t, ada+" true true", look())
	f.pass(10 * time.Minute)
	require.Equal(t, ada+" true false", look())
	b.get(t, "/prove")
	require.Equal(t, ada+" true true", look())
	f.pass(59 * time.Minute)
	require.Equal(t, ada+" true false", look())
	f.pass(time.Hour)
	require.Equal(t, "false false", look(), "an hour without a request")
	b.get(t, "/in")
	for range 23 {
		f.pass(30 * time.Minute)
		require.Equal(t, ada+" true false", look())
	}
	f.pass(30 * time.Minute)
	require.Equal(t, "false false", look(), "twelve hours after the sign-in")
}

func TestSignOutEverywhereEndsOtherBrowsers(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	web := f.site(t, f.Sessions("me", fail, signin.Email))
	one, two := newBrowser(t, web), newBrowser(t, web)
	one.get(t, "/in")
	two.get(t, "/in")
	one.get(t, "/out")
	text, _ := one.get(t, "/")
	require.Equal(t, "false false", text)
	text, _ = two.get(t, "/")
	require.Equal(t, ada+" true true", text)
	one.get(t, "/in")
	one.get(t, "/everywhere")
	text, _ = two.get(t, "/")
	require.Equal(t, "false false", text)
}

// TestTokenIsRenewedAtSignIn: a cookie that someone planted before does not become the
// person's session.
func TestTokenIsRenewedAtSignIn(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	b := newBrowser(t, f.site(t, f.Sessions("me", fail, signin.Email)))
	_, first := b.get(t, "/in")
	_, second := b.get(t, "/in")
	require.NotEqual(t, first.Cookies()[0].Value, second.Cookies()[0].Value)
	old := browser{&http.Client{}, b.url}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/", http.NoBody)
	require.NoError(t, err)
	req.AddCookie(first.Cookies()[0])
	res, err := old.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	data := make([]byte, 50)
	n, _ := res.Body.Read(data)
	require.Equal(t, "false false", strings.TrimSpace(string(data[:n])))
}

func TestCookieIsForTheHostAlone(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"https://pay.example": "__Host-me", "http://127.0.0.1:8402": "me"} {
		f := setup(t, func(c *signin.Config) { c.BaseURL = base })
		w := httptest.NewRecorder()
		s := f.Sessions("me", fail, signin.Email)
		s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			require.NoError(t, s.Begin(r.Context(), signin.Account{Kind: signin.Email, ID: ada}))
		})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		c := w.Result().Cookies()[0]
		require.Equal(t, want, c.Name)
		require.Equal(t, strings.HasPrefix(base, "https:"), c.Secure)
		require.True(t, c.HttpOnly)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
	}
}

// TestSessionOfAnotherKindOpensNothing: a person's cookie under the merchants' name.
// TestSessionOfAnotherDashboardOpensNothing: the value of one dashboard's cookie in another's.
func TestSessionOfAnotherDashboardOpensNothing(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	people := f.site(t, f.Sessions("me", fail, signin.Email))
	merchants := f.site(t, f.Sessions("merchant", fail, signin.Merchant, signin.Email))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, people.URL+"/in", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Len(t, resp.Cookies(), 1)
	for site, want := range map[string]string{people.URL: ada + " true true", merchants.URL: "false false"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site, http.NoBody)
		require.NoError(t, err)
		for _, name := range []string{"me", "merchant"} {
			r.AddCookie(&http.Cookie{Name: name, Value: resp.Cookies()[0].Value})
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, strings.TrimSpace(string(text)))
	}
}

// TestChoosingAnAccountProvesNothing: it keeps the times of the sign-in.
func TestChoosingAnAccountProvesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	b := newBrowser(t, f.site(t, f.Sessions("merchant", fail, signin.Merchant, signin.Email)))
	b.get(t, "/in")
	f.pass(10 * time.Minute)
	b.get(t, "/switch")
	text, _ := b.get(t, "/")
	require.Equal(t, "mer_1 true false", text)
}

func TestSessionOfAnotherKindOpensNothing(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	b := newBrowser(t, f.site(t, f.Sessions("me", fail, signin.Merchant)))
	b.get(t, "/in")
	text, _ := b.get(t, "/")
	require.Equal(t, "false false", text)
}

func TestNoMailerIsReported(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *signin.Config) { c.Post = nil })
	err := f.SendCode(t.Context(), signin.Challenge{Purpose: signin.Setup, Email: ada}, "")
	require.ErrorIs(t, err, signin.ErrNoMail)
}

// TestPasskeysNeedASecureOrigin: browsers refuse them at other addresses, so no page offers them.
func TestPasskeysNeedASecureOrigin(t *testing.T) {
	t.Parallel()
	for base, has := range map[string]bool{
		"https://pay.example": true, "https://pay.example:8443": true, "http://localhost:8080": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true,
		"http://shop.localhost": true, "http://pay.example": false, "https://192.0.2.1": false, "https://[2001:db8::1]:8443": false,
	} {
		f := setup(t, func(c *signin.Config) { c.BaseURL = base })
		require.Equal(t, has, f.HasPasskeys(), base)
		if has {
			options, err := f.AskForPasskey(t.Context(), "browser", "192.0.2.1")
			require.NoError(t, err, base)
			require.Contains(t, string(options), `"userVerification":"required"`)
		}
	}
}
