package mail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/mail"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// memory is a [store.Mails]; storetest has the contract.
type memory struct {
	mu    sync.Mutex
	mails []store.Mail
}

func (m *memory) AddMail(_ context.Context, one store.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails = append(m.mails, one)
	return nil
}

func (m *memory) HastenMail(_ context.Context, kind, subjectID string, due time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, one := range m.mails {
		if one.Kind == kind && one.SubjectID == subjectID && one.Attempts == 0 {
			m.mails[i].Due = due
		}
	}
	return nil
}

func (m *memory) DueMails(_ context.Context, now time.Time, limit int) ([]store.Mail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := slices.DeleteFunc(slices.Clone(m.mails), func(one store.Mail) bool { return one.Due.After(now) })
	return due[:min(limit, len(due))], nil
}

func (m *memory) PutOffMail(_ context.Context, one store.Mail, due time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.mails, one)
	if i < 0 {
		return false, nil
	}
	m.mails[i].Due, m.mails[i].Attempts = due, one.Attempts+1
	return true, nil
}

func (m *memory) DeleteMail(_ context.Context, one store.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails = slices.DeleteFunc(m.mails, func(x store.Mail) bool {
		return x.Kind == one.Kind && x.SubjectID == one.SubjectID && x.Due.Equal(one.Due)
	})
	return nil
}

func (m *memory) left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mails)
}

// server is a mail server.
type server struct {
	mu   sync.Mutex
	sent []string
	at   []time.Duration // of all attempts
	from time.Time
	fail func(n int) error // of the nth attempt, from 1
	hang bool
}

func (s *server) send(ctx context.Context, l letter.Letter) error {
	s.mu.Lock()
	s.at = append(s.at, time.Since(s.from))
	n := len(s.at)
	s.mu.Unlock()
	if s.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.fail != nil {
		if err := s.fail(n); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, l.Subject)
	return nil
}

func queue(m *memory, s *server, logs *bytes.Buffer) *mail.Queue {
	s.from = time.Now()
	return mail.New(mail.Config{
		Store: m, Clock: time.Now, Logger: slog.New(slog.NewTextHandler(logs, nil)), Send: s.send,
		Letters: map[string]func(context.Context, string) (letter.Letter, error){
			"to": func(_ context.Context, id string) (letter.Letter, error) {
				return letter.Letter{To: "ada@example.com", Subject: id}, nil
			},
			"no one": func(context.Context, string) (letter.Letter, error) { return letter.Letter{}, nil },
			"broken": func(context.Context, string) (letter.Letter, error) {
				return letter.Letter{}, errors.New("store is down")
			},
		},
	})
}

func TestMessageIsSentAtOnceAndOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := &memory{}, &server{}
		first, second := queue(m, s, &bytes.Buffer{}), queue(m, s, &bytes.Buffer{})
		first.Start(t.Context())
		second.Start(t.Context())
		defer first.Close()
		defer second.Close()
		var want []string
		for n := range 40 {
			want = append(want, fmt.Sprint("m", n))
			first.Post(t.Context(), "to", want[n])
		}
		first.Post(t.Context(), "no one", "x")
		synctest.Wait()
		time.Sleep(24 * time.Hour)
		require.ElementsMatch(t, want, s.sent)
		require.Zero(t, m.left())
		require.Zero(t, s.at[0])
	})
}

func TestMessageIsTriedForThreeDays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s, logs := &memory{}, &server{fail: func(int) error { return errors.New("451 later") }}, &bytes.Buffer{}
		q := queue(m, s, logs)
		q.Start(t.Context())
		defer q.Close()
		q.Post(t.Context(), "to", "m")
		time.Sleep(60 * time.Hour)
		require.Equal(t, 1, m.left())
		time.Sleep(13 * time.Hour)
		synctest.Wait()
		require.Zero(t, m.left())
		require.Empty(t, s.sent)
		for n, minute := range []int{0, 1, 3, 7, 15, 31} {
			require.InDelta(t, minute, s.at[n].Minutes(), 1)
		}
		require.Less(t, len(s.at), 25)
		require.Equal(t, 1, bytes.Count(logs.Bytes(), []byte("level=ERROR")))
	})
}

func TestMessageThatFailedIsSentLater(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(int) error{
		"the mail server was down": func(n int) error {
			if n < 4 {
				return errors.New("451 later")
			}
			return nil
		},
		"no such address": func(int) error { return fmt.Errorf("550: %w", mail.ErrRefused) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, s := &memory{}, &server{fail: fail}
				q := queue(m, s, &bytes.Buffer{})
				q.Start(t.Context())
				defer q.Close()
				q.Post(t.Context(), "to", "m")
				time.Sleep(time.Hour)
				synctest.Wait()
				require.Zero(t, m.left())
				if errors.Is(fail(1), mail.ErrRefused) {
					require.Len(t, s.at, 1, "it is not tried again")
					return
				}
				require.Len(t, s.at, 4)
				require.Equal(t, []string{"m"}, s.sent)
			})
		})
	}
}

// TestMessageOutlivesItsProcess: one whose attempt ended with the process is sent by the next.
func TestMessageOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := &memory{}, &server{hang: true}
		q := queue(m, s, &bytes.Buffer{})
		q.Start(t.Context())
		q.Post(t.Context(), "to", "m")
		synctest.Wait()
		q.Close()
		q.Close()
		require.Equal(t, 1, m.left())
		s.hang = false
		q = queue(m, s, &bytes.Buffer{})
		q.Start(t.Context())
		defer q.Close()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"m"}, s.sent)
		require.Zero(t, m.left())
	})
}

// TestMessageThatCannotBeWrittenWaits: it does not keep the others.
func TestMessageThatCannotBeWrittenWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := &memory{}, &server{}
		q := queue(m, s, &bytes.Buffer{})
		q.Start(t.Context())
		defer q.Close()
		for _, kind := range []string{"broken", "of a later version", "to"} {
			q.Post(t.Context(), kind, "m")
		}
		synctest.Wait()
		require.Equal(t, []string{"m"}, s.sent)
		require.Equal(t, 2, m.left())
	})
}

func TestNoQueueDoesNothing(t *testing.T) {
	t.Parallel()
	var q *mail.Queue
	q.Start(t.Context())
	q.Post(t.Context(), "to", "m")
	q.Close()
}

// TestServiceThatWasDownForDaysStillTries: the days in which the service did not run are no
// attempts.
func TestServiceThatWasDownForDaysStillTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := &memory{}, &server{fail: func(n int) error {
			if n < 3 {
				return errors.New("451 later")
			}
			return nil
		}}
		q := queue(m, s, &bytes.Buffer{})
		q.Post(t.Context(), "to", "m")
		time.Sleep(4 * 24 * time.Hour)
		q.Start(t.Context())
		defer q.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"m"}, s.sent)
		require.Zero(t, m.left())
	})
}

// TestExpectedMessageOutlivesItsProcess: one that ends right after the subject was stored,
// and one that ends right before.
func TestExpectedMessageOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		exists := false
		m, s := &memory{}, &server{}
		start := func() *mail.Queue {
			q := queue(m, s, &bytes.Buffer{})
			q.Letters["expected"] = func(context.Context, string) (letter.Letter, error) {
				if !exists {
					return letter.Letter{}, ledger.ErrNotFound
				}
				return letter.Letter{To: "ada@example.com", Subject: "expected"}, nil
			}
			q.Start(t.Context())
			return q
		}
		q := start()
		require.NoError(t, q.Expect(t.Context(), "expected", "one"))
		synctest.Wait()
		require.Equal(t, 1, m.left())
		exists = true
		q.Close() // before Hasten
		q = start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"expected"}, s.sent)
		require.Zero(t, m.left())

		require.NoError(t, q.Expect(t.Context(), "expected", "two"))
		q.Hasten(t.Context(), "expected", "two")
		synctest.Wait()
		require.Len(t, s.sent, 2, "at once")
		q.Hasten(t.Context(), "expected", "two")
		time.Sleep(time.Hour)
		require.Len(t, s.sent, 2, "once")

		exists = false
		require.NoError(t, q.Expect(t.Context(), "expected", "never"))
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		require.Zero(t, m.left())
		require.Len(t, s.sent, 2)
		q.Close()
	})
}
