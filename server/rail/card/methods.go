package card

import (
	"strings"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Methods returns the sandbox's cards for the setup page. It implements [rail.Offerer].
func (r *Rail) Methods() []rail.Method {
	var methods []rail.Method
	for _, c := range TestCards() {
		methods = append(methods, rail.Method{
			Name: c.Name, Label: c.Brand, Number: grouped(c.Number), Summary: c.Summary,
		})
	}
	return methods
}

// grouped formats a card number as it is printed on cards.
func grouped(number string) string {
	var groups []string
	for ; len(number) > 4; number = number[4:] {
		groups = append(groups, number[:4])
	}
	return strings.Join(append(groups, number), " ")
}
