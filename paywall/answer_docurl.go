package paywall

import "github.com/paywarrant/paywarrant/client"

// docs is the base address of the pages of error codes.
const docs = "https://github.com/paywarrant/paywarrant/blob/main/docs/errors/"

// documented are the codes that have a page. Codes of x402 have none.
var documented = map[string]bool{
	codePaymentRequired: true, codeMultiple: true, codeMalformed: true, codeNoCredits: true, codeRedeemed: true, codeBusy: true,
	codeOtherPayment: true, codeFacilitator: true, codeTimeout: true, codePending: true, codeTooMany: true, codeUnavailable: true, codeInternal: true,
	string(client.CodeValidation): true, string(client.CodePerTxLimit): true, string(client.CodeMonthlyLimit): true,
	string(client.CodeDailyLimit): true, string(client.CodeTotalLimit): true, string(client.CodeVelocityLimit): true, string(client.CodePayeeLimit): true,
	string(client.CodeMerchantLimit): true, string(client.CodeRailUnavailable): true, string(client.CodeMerchantInactive): true,
	string(client.CodeMandateInvalid): true, string(client.CodeMandateRevoked): true, string(client.CodeMandateExpired): true,
	string(client.CodeMandatePaused):      true,
	string(client.CodeMerchantNotAllowed): true, string(client.CodeNotFound): true, string(client.CodeIdempotencyMismatch): true,
	string(client.CodeAuthorizationEnded): true, codeRefunded: true,
}

// docURL returns the address of a code's page, or "" if it has none.
func docURL(code string) string {
	if !documented[code] {
		return ""
	}
	return docs + code + ".md"
}
