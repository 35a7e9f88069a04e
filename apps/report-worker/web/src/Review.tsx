/** Deliveries of which nobody knows whether they happened: what is known, and two buttons. */
import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { Review as Open } from "../../src/http/View.js"
import { Dialog, Note } from "./Dialog.js"
import { full, time } from "./format.js"
import { ask, attempt, counters, jobsChanged, mayAct, say, t } from "./state.js"

const open = signal<ReadonlyArray<Open> | undefined>(undefined)
const deciding = signal<{ readonly of: Open; readonly verdict: "happened" | "did not happen" } | undefined>(undefined)

const load = () =>
  attempt(async () => {
    open.value = (await ask<{ reviews: ReadonlyArray<Open> }>("GET", "/reviews")).reviews
  })

const One = ({ review }: { review: Open }) => (
  <article class="card">
    <header>
      <h2>
        <a href={`#/jobs/${review.jobId}`}>{review.jobId}</a>
      </h2>
      <span class={`chip ${review.state}`}>{t(review.state === "review" ? "inReview" : "stillAsked")}</span>
    </header>
    <dl class="facts">
      <div>
        <dt>{t("receiver")}</dt>
        <dd>{review.receiver ?? "–"}</dd>
      </div>
      <div>
        <dt>{t("key")}</dt>
        <dd>
          <code>{review.reference ?? "–"}</code>
        </dd>
      </div>
      <div>
        <dt>{t("called")}</dt>
        <dd>{review.calledAt === undefined ? "–" : full(review.calledAt)}</dd>
      </div>
      <div>
        <dt>{t("asked")}</dt>
        <dd>
          {t("times", review.asked)}
          {review.askedAgainAt === undefined ? "" : `, ${t("askedAgain", time(review.askedAgainAt))}`}
        </dd>
      </div>
      {review.error === undefined ? null : (
        <div>
          <dt>{t("reason")}</dt>
          <dd>{review.error}</dd>
        </div>
      )}
    </dl>
    {mayAct.value ? (
      <div class="actions">
        <button type="button" onClick={() => (deciding.value = { of: review, verdict: "happened" })}>
          {t("happened")}
        </button>
        <button type="button" onClick={() => (deciding.value = { of: review, verdict: "did not happen" })}>
          {t("didNotHappen")}
        </button>
      </div>
    ) : null}
  </article>
)

export const Review = () => {
  const undecided = counters.value?.undecided
  const changed = jobsChanged.value
  useEffect(() => {
    const timer = setTimeout(() => void load(), 200)
    return () => clearTimeout(timer)
  }, [undecided, changed])
  const asked = deciding.value
  const decide = async (data: FormData) => {
    const { of, verdict } = asked!
    const { attempt, callSeq, jobId } = of
    await ask("POST", `/reviews/${jobId}`, { attempt, callSeq, verdict, note: data.get("note") })
    say(t("decided", jobId))
    await load()
  }
  return (
    <>
      <div class="title">
        <h1>{t("review")}</h1>
      </div>
      <p class="about">{t("reviewAbout")}</p>
      {open.value?.length === 0 ? <p class="card empty">{t("noReviews")}</p> : null}
      <div class="cards">
        {open.value?.map((review) => (
          <One key={review.jobId} review={review} />
        ))}
      </div>
      {asked === undefined ? null : (
        <Dialog
          title={`${asked.of.jobId}: ${t(asked.verdict === "happened" ? "happened" : "didNotHappen")}`}
          action={asked.verdict === "happened" ? "happened" : "didNotHappen"}
          onClose={() => (deciding.value = undefined)}
          onConfirm={decide}
        >
          <p>{t(asked.verdict === "happened" ? "happenedAbout" : "didNotHappenAbout")}</p>
          <Note word="note" />
        </Dialog>
      )}
    </>
  )
}
