package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctorOfOurPaywall(t *testing.T) {
	t.Parallel()
	s := startDemo(t)
	url := s.API.BaseURL + "/weather"
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items":[{"resource":%q}]}`, url)
	}))
	t.Cleanup(directory.Close)
	text, err := command(t, "doctor", url, "--directory", directory.URL)
	require.NoError(t, err, text)
	require.Regexp(t, `warn +doctor.dns`, text, "directories cannot reach the loopback interface")
	require.Regexp(t, `pass +doctor.listed`, text)
	require.Contains(t, text, "1 warning, 0 failed")

	text, err = command(t, "doctor", url, "--service", directory.URL+"/other", "--directory", "http://127.0.0.1:1")
	require.ErrorIs(t, err, errSaid)
	require.Regexp(t, `fail +doctor.listed`, text)
	require.Contains(t, text, "wait ten minutes")

	_, err = command(t, "doctor", "weather")
	require.Equal(t, exitUsage, exitCode(err))
	_, err = command(t, "doctor", "http://127.0.0.1:1/")
	require.Equal(t, exitFailure, exitCode(err), "an endpoint that does not answer is a finding")
}
