package card

// The processor's reasons for a refusal.
const (
	reasonDeclined      = "card_declined"
	reasonFunds         = "insufficient_funds"
	reasonExpired       = "expired_card"
	reasonProcessor     = "processor_error"
	reasonUnknownMethod = "unknown_payment_method"
	reasonNotCaptured   = "payment_not_captured"
	reasonRefunded      = "more_than_captured"
)

// TestCard is a card of the sandbox.
type TestCard struct {
	// Name identifies the card in [MethodParams] and in the test helpers.
	Name string
	// Number is a published test number without an account.
	Number string
	// Brand is the card's brand, such as "Visa".
	Brand string
	// LastFour are the last four digits of Number.
	LastFour string
	// Summary is one line on what the card does.
	Summary string
}

// TestCards returns the cards of the sandbox. The first one works.
func TestCards() []TestCard {
	cards := make([]TestCard, len(sandboxCards))
	for i, one := range sandboxCards {
		cards[i] = one.TestCard
	}
	return cards
}

// answer is the processor's behavior after a call held or moved the money.
type answer int

const (
	answersAtOnce answer = iota
	answersLate          // after callers have timed out
	answersNever         // once; a repeated call is answered
)

// sandboxCard is a card and its behavior.
type sandboxCard struct {
	TestCard
	connect string // reason for refusing to connect it; empty: none
	charge  string // reason for refusing every charge; empty: none
	capture string // reason for refusing every capture; empty: none
	refund  string // reason for refusing every refund; empty: none
	answer  answer
}

// sandboxCards must not be modified.
var sandboxCards = [...]sandboxCard{
	{TestCard: visa("card_visa", "4242424242424242", "Works: every charge succeeds.")},
	{TestCard: visa("card_declined", "4000000000000002", "Is refused when it is connected: card_declined."), connect: reasonDeclined},
	{TestCard: visa("card_decline_after_setup", "4000000000000341", "Connects; every charge is refused: card_declined."), charge: reasonDeclined},
	{TestCard: visa("card_insufficient_funds", "4000000000009995", "Connects; every charge is refused: insufficient_funds."), charge: reasonFunds},
	{TestCard: visa("card_expired", "4000000000000069", "Connects; every charge is refused: expired_card."), charge: reasonExpired},
	{TestCard: visa("card_processor_error", "4000000000000119", "Connects; every charge is refused: processor_error."), charge: reasonProcessor},
	{TestCard: visa("card_capture_refused", "4000000000000259", "Authorizes; every capture is refused, and so is every charge: card_declined."), capture: reasonDeclined},
	{TestCard: visa("card_refund_refused", "4000000000005126", "Works, but every refund is refused: card_declined."), refund: reasonDeclined},
	{TestCard: TestCard{
		Name: "card_slow", Number: "5555555555554444", Brand: "Mastercard", LastFour: "4444",
		Summary: "Works, but the first answer to a charge, hold, capture or refund comes later than callers wait.",
	}, answer: answersLate},
	{TestCard: TestCard{
		Name: "card_lost_answer", Number: "6011111111111117", Brand: "Discover", LastFour: "1117",
		Summary: "Works, but the first answer to a charge, hold, capture or refund is lost; repeating the request returns it.",
	}, answer: answersNever},
}

func visa(name, number, summary string) TestCard {
	return TestCard{Name: name, Number: number, Brand: "Visa", LastFour: number[len(number)-4:], Summary: summary}
}

// cardNamed returns the card with that name.
func cardNamed(name string) (sandboxCard, bool) {
	for _, one := range sandboxCards {
		if one.Name == name {
			return one, true
		}
	}
	return sandboxCard{}, false
}
