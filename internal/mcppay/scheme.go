package mcppay

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/mpp"
)

// Objects of the Payment scheme have the request as an object; headers have it as
// base64url of canonical JSON.

// challenge is a challenge of the Payment scheme in JSON.
type challenge struct {
	mpp.Challenge

	Request json.RawMessage `json:"request"`
}

// wire returns the challenge as in a header.
func (c challenge) wire() (mpp.Challenge, error) {
	out := c.Challenge
	var err error
	if len(c.Request) == 0 || c.Request[0] != '{' {
		return out, errors.New("challenge.request must be an object")
	}
	out.Request, err = mpp.EncodeJSON(c.Request)
	return out, err
}

// object returns a challenge in JSON.
func object(c mpp.Challenge) (challenge, error) {
	data, err := mpp.DecodeBase64(c.Request)
	if err == nil && !json.Valid(data) {
		err = errors.New("challenge has no valid request")
	}
	return challenge{c, data}, err
}

// challenges returns the challenges of a response.
func challenges(h http.Header) []challenge {
	parsed, err := mpp.ParseChallenges(h.Values("WWW-Authenticate")...)
	if err != nil {
		return nil
	}
	var all []challenge
	for _, c := range parsed {
		if o, err := object(c); err == nil {
			all = append(all, o)
		}
	}
	return all
}

// credential is a credential of the Payment scheme in JSON.
type credential struct {
	Challenge challenge       `json:"challenge"`
	Source    string          `json:"source,omitempty"`
	Payload   json.RawMessage `json:"payload"`
}

// credentialHeader returns the Authorization header of a credential in JSON.
func credentialHeader(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	var c credential
	if err := json.Unmarshal(data, &c); err != nil {
		return "", errors.New("must be an object with challenge and payload")
	}
	out := mpp.Credential{Source: c.Source, Payload: c.Payload}
	if out.Challenge, err = c.Challenge.wire(); err != nil {
		return "", err
	}
	return out.Header()
}

// credentialObject returns a credential in JSON.
func credentialObject(c mpp.Credential) (credential, error) {
	o, err := object(c.Challenge)
	return credential{Challenge: o, Source: c.Source, Payload: c.Payload}, err
}

// SetChallenges sets the headers of the challenges in value: a member [Required] of a result, or
// the data of an error.
func SetChallenges(h http.Header, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		return
	}
	var required struct {
		Challenges []challenge `json:"challenges"`
	}
	if err := json.Unmarshal(data, &required); err != nil {
		return
	}
	for _, c := range required.Challenges {
		wire, err := c.wire()
		if err != nil {
			continue
		}
		if text, err := wire.Header(); err == nil {
			h.Add("WWW-Authenticate", text)
		}
	}
}
