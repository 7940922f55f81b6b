package mcptools

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent/toolkit"
)

// setupRequest names the elicitation of a setup.
const setupRequest = "setup"

// setup creates a setup session. A client that can open links for the person is asked to open
// the setup page; the setup travels with the request as its state, so the server keeps none.
func setup(ctx context.Context, kit *toolkit.Kit, r *mcp.CallToolRequest, in toolkit.SetupIn) (*mcp.CallToolResult, toolkit.SetupOut, error) {
	var out toolkit.SetupOut
	if r.Params.RequestState != "" && r.Params.InputResponses != nil && json.Unmarshal([]byte(r.Params.RequestState), &out) == nil {
		return nil, out, nil
	}
	out, err := kit.Setup(ctx, in)
	if err != nil || !opensLinks(r.Session) {
		return nil, out, err
	}
	state, err := json.Marshal(out) //nolint:gosec // the client needs the session to ask for its result
	if err != nil {
		return nil, out, err
	}
	return &mcp.CallToolResult{
		RequestState: string(state),
		InputRequests: mcp.InputRequestMap{setupRequest: &mcp.ElicitParams{
			Mode: "url", URL: out.SetupURL, ElicitationID: rand.Text(), Message: "Confirm the limits within which the agent may pay.",
		}},
	}, out, nil
}

// opensLinks reports whether the client can open links for the person.
func opensLinks(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil && p.Capabilities.Elicitation.URL != nil
}
