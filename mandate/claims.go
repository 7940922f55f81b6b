package mandate

import (
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// maxSafe is the largest integer that every JSON implementation represents exactly.
const maxSafe = 1<<53 - 1

// maxJTI is the maximum length of an id after its prefix.
const maxJTI = 64

// verified is a mandate with what is needed to check it again later.
type verified struct {
	Mandate
	key           PublicKey // of the issuer
	iat, exp, nbf int64     // nbf is 0 if there is none
}

// window is the time at which a mandate is checked.
type window struct {
	now, skew int64 // Unix seconds, seconds
	ignore    bool  // skip comparisons with the clock
}

func (w window) early(t int64) bool { return !w.ignore && t > w.now+w.skew }
func (w window) late(t int64) bool  { return !w.ignore && w.now >= t+w.skew }

// check repeats the time rules for a mandate that was verified before.
func (v *verified) check(w window) error {
	switch {
	case w.early(v.iat):
		return refuse(IatInFuture)
	case w.late(v.exp):
		return refuse(Expired)
	case w.early(v.nbf):
		return refuse(NotYetValid)
	}
	return nil
}

// readClaims checks rules 19 to 29.
func readClaims(c claims, trusted issuerURL, w window) (*verified, error) {
	v := &verified{}
	if !c.own("vct").Is(vct) {
		return nil, refuse(BadVct)
	}
	if !c.either("iss").Is(trusted.text) {
		return nil, refuse(BadIss)
	}
	v.Issuer = trusted.text
	jti, ok := c.either("jti").Str()
	if !ok || !validID(jti) {
		return nil, refuse(BadJti)
	}
	v.ID = strings.Clone(jti) // a cached result must not retain the token's text
	if err := v.readTimes(c, w); err != nil {
		return nil, err
	}
	if v.SessionKey, ok = readJWK(c.own("cnf").Get("jwk")); !ok {
		return nil, refuse(BadCnf)
	}
	v.RequiresBinding = c.either("key_binding_required") != nil // even with the value false
	if v.Status, ok = readStatus(c.either("status"), trusted); !ok {
		return nil, refuse(BadStatus)
	}
	if v.Limits, ok = readLimits(c.own("spending_limits")); !ok {
		return nil, refuse(BadLimits)
	}
	if !v.Limits.readFurther(c.own("further_limits")) {
		return nil, refuse(BadLimits)
	}
	if rest := c.own("round_up_rest"); rest != nil {
		if !rest.True() {
			return nil, refuse(BadLimits)
		}
		v.Limits.RoundUpRest = true
	}
	return v, v.readConstraints(c.own("constraints"))
}

// validID reports whether s is a mandate's id: del_ and 1 to 64 of A-Za-z0-9_-.
func validID(s string) bool {
	rest, ok := strings.CutPrefix(s, "del_")
	if !ok || rest == "" || len(rest) > maxJTI {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// readTimes checks rules 22 to 24.
func (v *verified) readTimes(c claims, w window) error {
	var ok bool
	if v.iat, ok = date(c.either("iat")); !ok {
		return refuse(BadIat)
	}
	if w.early(v.iat) {
		return refuse(IatInFuture)
	}
	exp := c.either("exp")
	if exp == nil {
		return refuse(ExpMissing)
	}
	if v.exp, ok = date(exp); !ok || v.exp <= v.iat {
		return refuse(BadExp)
	}
	if w.late(v.exp) {
		return refuse(Expired)
	}
	v.IssuedAt, v.ExpiresAt = time.Unix(v.iat, 0).UTC(), time.Unix(v.exp, 0).UTC()
	nbf := c.either("nbf")
	if nbf == nil {
		return nil
	}
	if v.nbf, ok = date(nbf); !ok {
		return refuse(BadNbf)
	}
	if w.early(v.nbf) {
		return refuse(NotYetValid)
	}
	v.NotBefore = time.Unix(v.nbf, 0).UTC()
	return nil
}

func date(v *ijson.Value) (int64, bool) { return v.Int(1, sdjwt.MaxDate) }

// readStatus checks rule 26. A mandate without the claim has no status.
func readStatus(v *ijson.Value, trusted issuerURL) (*StatusRef, bool) {
	if v == nil {
		return nil, true
	}
	list := v.Get("status_list")
	index, okIndex := list.Get("idx").Int(0, 1<<31-1)
	uri, _ := list.Get("uri").Str()
	if !okIndex || !validURL(uri, trusted.loopback) {
		return nil, false
	}
	return &StatusRef{Index: index, URI: strings.Clone(uri)}, true
}

// readLimits checks rule 27: exactly five members.
func readLimits(v *ijson.Value) (Limits, bool) {
	perTx, okTx := v.Get("max_per_tx_cents").Int(1, maxSafe)
	monthly, okMonth := v.Get("max_monthly_cents").Int(1, maxSafe)
	ok := okTx && okMonth && perTx <= monthly && v.Len() == 5 &&
		v.Get("period").Is("calendar_month") && v.Get("time_zone").Is("UTC") && v.Get("currency").Is("USD")
	return Limits{MaxPerTxCents: perTx, MaxMonthlyCents: monthly}, ok
}

// readFurther reads the optional claim further_limits: at least one member, and none that is
// unknown, since an unknown limit would not be respected.
func (l *Limits) readFurther(v *ijson.Value) bool {
	if v == nil {
		return true
	}
	found := 0
	for name, to := range map[string]*int64{
		"max_daily_cents": &l.MaxDailyCents, "max_total_cents": &l.MaxTotalCents,
		"max_payments_per_day": &l.MaxPaymentsPerDay, "max_monthly_per_payee_cents": &l.MaxMonthlyPerPayeeCents,
	} {
		if v.Get(name) == nil {
			continue
		}
		var ok bool
		if *to, ok = v.Get(name).Int(1, maxSafe); !ok {
			return false
		}
		found++
	}
	return v.Kind() == ijson.Object && found > 0 && found == v.Len()
}
