// A sample partner. Run it as it is, then replace work with your own.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"example.org/candidate-eligibility/partner"
)

const usage = `usage: go run ./sample serve            receives notifications at https://localhost:PORT
       go run ./sample poll             fetches and acknowledges the notifications that are due
       go run ./sample heal FROM TO     finds missing notifications between two times, and orders them again
       go run ./sample vectors FILE     checks the kit against vectors.json

Settings of the environment: STORE (a file), WEBHOOK_SECRET, PORT, TLS_CERT, TLS_KEY for serve;
STORE, BASE_URL, CONSUMER_KEY, CONSUMER_SECRET, SUBSCRIPTION_ID for poll and heal.`

// work processes a notification. Write to your own database here.
func work(notification partner.Notification, _ bool) error {
	fmt.Println(notification.ChangeReason+notification.Change, notification.BookingCode+notification.SvcID)
	return nil
}

type vectors struct {
	Signatures []struct {
		Title   string
		Secrets []string
		Now     int64
		Headers map[string]string
		Body    string
		Fault   string
	}
	Ordering []struct {
		Title    string
		Received []struct {
			ID            string
			BookingCode   string `json:"booking_code"`
			EventSequence int64  `json:"event_sequence"`
			Record        string
			EffectiveDate string `json:"effective_date"`
		}
		Outcomes []string
		Newest   []bool
	}
	Digests []struct {
		Title    string
		From, To string
		StepS    int64 `json:"step_s"`
		Kept     []struct {
			ID            string
			EventSequence int64 `json:"event_sequence"`
			Body          string
		}
		Steps []partner.Step
	}
}

// faultsOfBytes returns a sentence about the fault if the hash in the vectors file does not match the bytes of the
// file.
func faultsOfBytes(file []byte) []string {
	name := []byte("  \"sha256\": \"")
	before, _, _ := bytes.Cut(file, name)
	if right := fmt.Sprintf("%s%x\"\n}\n", name, sha256.Sum256(before)); string(file[len(before):]) != right {
		return []string{"WRONG vectors.json: its bytes do not have the hash in `sha256`"}
	}
	return nil
}

// faultsOf returns a sentence for each test vector for which the kit's result differs from the expected result.
func faultsOf(all vectors) (faults []string, err error) {
	expect := func(title string, found, right any) {
		if !reflect.DeepEqual(found, right) {
			faults = append(faults, fmt.Sprintf("WRONG %s: %v instead of %v", title, found, right))
		}
	}
	for _, one := range all.Signatures {
		headers, fault := http.Header{}, ""
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		if err := partner.Verify(headers, []byte(one.Body), one.Secrets, 5*time.Minute, time.Unix(one.Now, 0)); err != nil {
			fault = err.Error()
		}
		expect(one.Title, fault, one.Fault)
	}
	folder, err := os.MkdirTemp("", "partner-vectors-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	for number, one := range all.Ordering {
		store, err := partner.Open(filepath.Join(folder, strconv.Itoa(number)))
		if err != nil {
			return nil, err
		}
		outcomes, newest := []string{}, make([]bool, len(one.Received))
		for index, came := range one.Received {
			at, _ := partner.Seconds(came.EffectiveDate)
			kept := partner.Kept{ID: came.ID, Key: came.BookingCode, Record: came.Record, Sequence: came.EventSequence, At: at}
			outcome, err := store.Once(kept, func(isNewest bool) error {
				newest[index] = isNewest
				return nil
			})
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, outcome)
		}
		expect(one.Title, outcomes, one.Outcomes)
		expect(one.Title, newest, one.Newest)
	}
	for _, one := range all.Digests {
		var all []partner.Kept
		for _, kept := range one.Kept {
			_, parsed, err := partner.Parse(kept.ID, strconv.FormatInt(kept.EventSequence, 10), []byte(kept.Body))
			if err != nil {
				return nil, err
			}
			all = append(all, parsed)
		}
		from, _ := partner.Seconds(one.From)
		to, _ := partner.Seconds(one.To)
		expect(one.Title, partner.StepsOf(all, from, to, one.StepS), one.Steps)
	}
	return faults, nil
}

func checkVectors(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all vectors
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	faults, err := faultsOf(all)
	faults = append(faultsOfBytes(text), faults...)
	if err == nil && len(faults) > 0 {
		err = errors.New(strings.Join(faults, "\n"))
	}
	if err == nil {
		fmt.Println("The vectors are right.")
	}
	return err
}

func serve(receiver *partner.Receiver) error {
	listener, err := net.Listen("tcp", ":"+os.Getenv("PORT"))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	handler := http.NewServeMux()
	handler.Handle("/notifications", receiver)
	handler.Handle("/changes", receiver)
	server := &http.Server{Handler: handler, ReadTimeout: 30 * time.Second}
	if certificate := os.Getenv("TLS_CERT"); certificate != "" {
		return server.ServeTLS(listener, certificate, os.Getenv("TLS_KEY"))
	}
	return server.Serve(listener)
}

func run(arguments []string) error {
	command := arguments[0]
	if command == "vectors" && len(arguments) == 2 {
		return checkVectors(arguments[1])
	}
	store, err := partner.Open(os.Getenv("STORE"))
	if err != nil {
		return fmt.Errorf("STORE: %w", err)
	}
	receiver := &partner.Receiver{Store: store, Secrets: strings.Split(os.Getenv("WEBHOOK_SECRET"), " "), Work: work}
	api := &partner.API{
		BaseURL: strings.TrimRight(os.Getenv("BASE_URL"), "/"), SubscriptionID: os.Getenv("SUBSCRIPTION_ID"),
		Key: os.Getenv("CONSUMER_KEY"), Secret: os.Getenv("CONSUMER_SECRET"),
	}
	switch {
	case command == "serve":
		return serve(receiver)
	case command == "poll":
		count, err := api.Poll(receiver, false)
		fmt.Println(count, "acknowledged")
		return err
	case command == "heal" && len(arguments) == 3:
		from, wrongFrom := partner.Seconds(arguments[1])
		to, wrongTo := partner.Seconds(arguments[2])
		if wrongFrom != nil || wrongTo != nil {
			return errors.New(usage)
		}
		missing, calls, err := api.Heal(store, from, to)
		fmt.Println(len(missing), "missing, found in", calls, "calls")
		return err
	}
	return errors.New(usage)
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
