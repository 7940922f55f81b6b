package conformance

const concurrent = 20

type payment struct{}
