package platform

import (
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

// delivered is how a project delivered that merges more often than its soak lets through.
func (s sample) delivered() flowclient.DoraReport {
	return flowclient.DoraReport{
		Project: "shop", From: s.now.AddDate(0, 0, -30), To: s.now, Promotions: 12, Merges: 96,
		Soak: &flowclient.SoakEstimate{Seconds: 1800, Survives: 0.3, Note: "About 6.0 merges an hour into shop meet a soak of 30 min: each begins the soak anew, and about 0.3 promotions an hour get through. Merge in larger batches, or shorten the soak."},
		Measures: []flowclient.Measure{
			{Name: "deployment frequency", Value: "12 promotions, 0.4 a day", Means: "Promotions that moved at least one component to production, by hand or by the automatic pass."},
			{Name: "lead time for changes", Value: "median 2 h 10 min, p90 1 d 3 h, of 31 changes", Means: "From the push that started a commit's build to the first promotion that carried the commit."},
			{Name: "change failure rate", Value: "17 %, 2 of 12 promotions", Means: "Promotions of which a component was rolled back, within the period, to what the promotion had displaced."},
		},
	}
}

// undelivered is a project in which nothing happened.
func (s sample) undelivered() flowclient.DoraReport {
	r := s.delivered()
	r.Promotions, r.Merges, r.Soak = 0, 0, nil
	return r
}

// audited is a page of the audit trail with every result.
func (s sample) audited() flowclient.AuditPage {
	entry := func(age time.Duration, kind, result, who, outcome string) flowclient.AuditEntry {
		return flowclient.AuditEntry{At: s.now.Add(-age), Who: who, Link: "http://127.0.0.1:9991/#narrow/near/31", Project: "shop", Component: "shop-web", Kind: kind, Result: result, Outcome: outcome}
	}
	byItself := entry(26*time.Hour, "review", flowclient.AuditDone, "", "The review environment pr-7 of platform/shop#7 at 9f8e7d6 was made.")
	byItself.Link = ""
	unknown := entry(3*time.Hour, "unknown", flowclient.AuditRefused, "zulip:66", "Asked of platform: promote shop @everyone *now*. Refused, since nobody knows who zulip:66 is.")
	unknown.Project, unknown.Component = "", ""
	return flowclient.AuditPage{Next: "more", Entries: []flowclient.AuditEntry{
		entry(2*time.Second, "promotion", flowclient.AuditOpen, "developer", "It was begun and has not ended yet; the next pass goes on with it."),
		entry(4*time.Minute, "promotion", flowclient.AuditDone, "auto", "shop-web: production runs 9f8e7d6 now; it ran 1a2b3c4 before."),
		entry(12*time.Minute, "lock", flowclient.AuditDone, "sre", "Locked shop-web 1a2b3c4 in production: breaks the checkout *badly* @everyone."),
		entry(3*time.Hour, "refusal", flowclient.AuditRefused, "Dev *Developer*", "shop-web 1a2b3c4 is locked in production by sre since Fri 20 Nov 14:48 UTC: breaks the checkout. Clear the lock on shop-web 1a2b3c4 to go on."),
		entry(3*time.Hour, "confirmed", flowclient.AuditDone, "sre", "Asked of platform: confirm k2mxq7. Confirmed: undo shop."),
		entry(3*time.Hour, "denied", flowclient.AuditRefused, "sre", "Asked of platform: promote shop. Denied, since sre is not granted component:promote."),
		unknown,
		entry(5*time.Hour, "commit", flowclient.AuditDone, "developer", "Pushed 9f8e7d6 to main of shop: "+strings.Repeat("very ", 70)+"long."),
		byItself,
	}}
}
