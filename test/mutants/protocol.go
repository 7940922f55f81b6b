package main

var protocolMutants = []mutant{
	{"mpp/signer.go", "any challenge is ours", "hmac.Equal([]byte(s.id(i, text)), []byte(c.ID))", `s.id(i, text) != ""`, "./mpp"},
	{"mpp/signer.go", "separators may be shifted", `return errors.New(` + "`sign challenge: a parameter has a \"|\"`)", "_ = c", "./mpp"},
	{"mpp/signer.go", "the expiry is not bound", "c.Request, c.Expires, c.Digest", "c.Request, c.Digest", "./mpp"},
	{"mpp/signer.go", "the digest is not bound", "c.Expires, c.Digest, c.Opaque", "c.Expires, c.Opaque", "./mpp"},
	{"mpp/signer.go", "short secrets are taken", "len(secret) < minSecret", "len(secret) < 1", "./mpp"},
	{"mpp/credential.go", "the first of two credentials is taken", "case 1:\n\t\treturn ParseCredential(found)\n\t}", "case 1, 2:\n\t\treturn ParseCredential(found)\n\t}", "./mpp"},
	{"mpp/credential.go", "large credentials are read", "if len(value) > MaxCredentialHeader {", "if false {", "./mpp"},
	{"mpp/evm.go", "the nonce does not bind the realm", "c.ID + c.Realm", "c.ID", "./mpp"},
	{"mpp/evm.go", "any type of payload is an authorization", "if p.Type != CredentialAuthorization {", "if false {", "./mpp"},
}
