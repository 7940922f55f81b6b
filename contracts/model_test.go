package contracts_test

import (
	"encoding/binary"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// signedGrant is a grant in the model.
type signedGrant struct {
	evm.Grant

	id      common.Hash
	revoked bool
	months  map[int]uint64         // spent in each
	refs    map[common.Hash]uint64 // amount charged under each
}

// model is a second implementation of the router, in a few lines.
type model struct {
	*world

	grants []*signedGrant
	paused bool
	paid   uint64
	start  uint64
	payees []common.Address
}

func monthOf(at time.Time) int { return at.Year()*12 + int(at.Month()) }

// TestNoSequenceMovesMoreThanWasSigned runs random sequences of calls, by accounts that
// may make them and others, and compares each with the model. What has left the owner
// always equals the model's sum, and is within every cap.
func TestNoSequenceMovesMoreThanWasSigned(t *testing.T) {
	t.Parallel()
	issued := devchaintest.IssuedUSDC(t)
	rapid.Check(t, func(rt *rapid.T) {
		config := devchain.Config{Manual: true}
		if rapid.Bool().Draw(rt, "issued") {
			config.Genesis = issued
		}
		chain, err := devchain.Start(config)
		require.NoError(rt, err)
		defer func() { require.NoError(rt, chain.Close()) }()
		w := newWorld(rt, chain)
		m := &model{world: w, payees: []common.Address{w.payee, devchain.Payee(1).Address}}
		m.start = w.balance(rt, w.owner.Address)
		rt.Repeat(map[string]func(*rapid.T){
			"":        m.check,
			"grant":   m.addGrant,
			"charge":  m.tryCharge,
			"revoke":  m.tryRevoke,
			"advance": m.advance,
			"pause":   m.togglePause,
		})
	})
}

func (m *model) addGrant(t *rapid.T) {
	if m.paused || len(m.grants) == 4 {
		t.Skip("paused, or enough")
	}
	g := m.grant()
	binary.BigEndian.PutUint64(g.Salt[:], rapid.Uint64().Draw(t, "salt"))
	g.MaxPerCharge = rapid.Uint64Range(1, 100).Draw(t, "charge")
	g.MaxPerMonth = g.MaxPerCharge + rapid.Uint64Range(0, 150).Draw(t, "month")
	g.ExpiresAt = m.now() + rapid.Uint64Range(100, 100*86_400).Draw(t, "lifetime")
	if rapid.Bool().Draw(t, "any payee") {
		g.Payees = nil
	}
	m.grants = append(m.grants, &signedGrant{Grant: g, id: m.granted(t, g), months: map[int]uint64{}, refs: map[common.Hash]uint64{}})
}

func (m *model) pick(t *rapid.T) *signedGrant {
	if len(m.grants) == 0 {
		t.Skip("no grant")
	}
	return rapid.SampledFrom(m.grants).Draw(t, "grant")
}

func (m *model) tryCharge(t *rapid.T) {
	g := m.pick(t)
	c := evm.Charge{
		GrantID: g.id, Payee: rapid.SampledFrom(m.payees).Draw(t, "payee"), Amount: rapid.Uint64Range(0, 120).Draw(t, "amount"),
		Ref: common.Hash{byte(rapid.IntRange(1, 6).Draw(t, "ref"))},
	}
	key := m.key
	if rapid.IntRange(0, 9).Draw(t, "thief") == 0 {
		key = devchain.Relayer().Key()
	}
	allowed := len(g.Payees) == 0 || c.Payee == m.payee
	// The next block is one second later than the newest at least, and a month
	// cannot end within the seconds that a test takes but by advance.
	month := monthOf(m.nextBlock())
	once, used := g.refs[c.Ref]
	key2 := refKey(c.Ref, c.Payee)
	before := m.balance(t, c.Payee)
	receipt, refusal := m.send(t, relayer(), m.chain.Router(), m.chargeBy(t, c, key))
	moved := m.balance(t, c.Payee) - before
	switch {
	case m.paused:
		require.IsType(t, &contracts.MandateRouterEnforcedPause{}, refusal)
	case used && once == c.Amount && g.refs[key2] == 1:
		require.Nil(t, refusal)
		require.Empty(t, receipt.Logs)
	case used:
		require.IsType(t, &contracts.MandateRouterRefReused{}, refusal)
	case g.revoked, m.expired(g), c.Amount == 0, c.Amount > g.MaxPerCharge, !allowed, key != m.key, g.months[month]+c.Amount > g.MaxPerMonth:
		require.NotNil(t, refusal)
	default:
		require.Nil(t, refusal, "%T", refusal)
		g.months[monthOf(m.chain.Now())] += c.Amount
		g.refs[c.Ref], g.refs[key2] = c.Amount, 1
		m.paid += c.Amount
		require.Equal(t, c.Amount, moved)
		return
	}
	require.Zero(t, moved)
}

// refKey returns a key of a ref and the payee that was paid under it.
func refKey(ref common.Hash, payee common.Address) common.Hash {
	copy(ref[8:], payee[:])
	return ref
}

// nextBlock returns the time that a block would have now.
func (m *model) nextBlock() time.Time {
	next := m.chain.Now().Add(time.Second)
	if now := time.Now().UTC(); now.After(next) {
		return now
	}
	return next
}

func (m *model) expired(g *signedGrant) bool {
	return uint64(m.nextBlock().Unix()) >= g.ExpiresAt
}

func (m *model) tryRevoke(t *rapid.T) {
	g := m.pick(t)
	by := rapid.SampledFrom([]devchain.Wallet{m.owner, devchain.Operator(), anyone()}).Draw(t, "by")
	_, refusal := m.send(t, by, m.chain.Router(), m.router.PackRevoke(g.id))
	if by.Address == anyone().Address {
		require.NotNil(t, refusal)
		return
	}
	require.Nil(t, refusal)
	g.revoked = true
}

func (m *model) advance(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Minute, 24 * time.Hour, 28 * 24 * time.Hour}).Draw(t, "by")
	require.NoError(t, m.chain.AdvanceTime(d))
}

func (m *model) togglePause(t *rapid.T) {
	call := m.router.PackPause()
	if m.paused {
		call = m.router.PackUnpause()
	}
	m.must(t, devchain.Admin(), m.chain.Router(), call)
	m.paused = !m.paused
}

func (m *model) check(t *rapid.T) {
	require.Equal(t, m.paid, m.start-m.balance(t, m.owner.Address), "what left the owner is what was charged")
	require.Zero(t, m.balance(t, m.chain.Router()))
	for _, g := range m.grants {
		for _, spent := range g.months {
			require.LessOrEqual(t, spent, g.MaxPerMonth)
		}
		for ref, amount := range g.refs {
			if ref == (common.Hash{ref[0]}) {
				require.LessOrEqual(t, amount, g.MaxPerCharge)
			}
		}
	}
}

// TestThievesCannotExceedTheGrant checks that an owner loses no more than the grant if
// the keys of the session, the relayer, the operator and the administrator are all
// stolen.
func TestThievesCannotExceedTheGrant(t *testing.T) {
	t.Parallel()
	w := setup(t)
	g := w.grant()
	g.Payees, g.ExpiresAt = nil, w.now()+86_400
	id := w.granted(t, g)
	before := w.balance(t, w.owner.Address)
	month := monthOf(w.chain.Now())
	thief := devchain.Payee(9).Address
	stolen := []devchain.Wallet{devchain.Relayer(), devchain.Operator(), devchain.Admin()}
	tokens := w.token
	for i := range 12 {
		for j, by := range stolen {
			ref := common.BigToHash(big.NewInt(int64(100*i + j)))
			for _, amount := range []uint64{25_000_000, 10_000_001, 10_000_000, 3_000_000} {
				c := evm.Charge{GrantID: id, Payee: thief, Amount: amount, Ref: ref}
				_, _ = w.send(t, by, w.chain.Router(), w.charge(t, c))
			}
			_, refusal := w.send(t, by, devchain.USDC(), tokens.PackTransferFrom(w.owner.Address, thief, common.Big1))
			require.NotNil(t, refusal)
			wider := g
			wider.MaxPerMonth, wider.Salt = 1<<40, common.BigToHash(big.NewInt(int64(7_000+100*i+j)))
			_, refusal = w.send(t, by, w.chain.Router(), w.router.PackGrantWithSignature(abi(wider), w.sign(t, wider, w.key)))
			require.NotNil(t, refusal)
		}
	}
	limit := g.MaxPerMonth
	if monthOf(w.chain.Now()) != month {
		limit *= 2 // the test ran over midnight of the last day
	}
	lost := before - w.balance(t, w.owner.Address)
	require.LessOrEqual(t, lost, limit)
	require.Positive(t, lost)
}
