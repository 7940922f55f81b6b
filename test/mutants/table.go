package main

import "slices"

// all returns every mutant.
func all() []mutant {
	return slices.Concat(mandateMutants, ledgerMutants, webhookMutants, protocolMutants, paywallMutants, contractMutants, agentMutants)
}
