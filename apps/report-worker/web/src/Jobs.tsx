/** All jobs: a list that lives, filtered and searched. */
import { bytes, full, time } from "./format.js"
import { hasMore, list, more, type Row, state, text } from "./jobList.js"
import { mayAct, t } from "./state.js"
import { isSubmitting, Submit } from "./Submit.js"
import type { JobState } from "../../src/jobs/JobRow.js"
import type { Word } from "./en.js"

export const states: ReadonlyArray<JobState> = [
  "scheduled",
  "accepted",
  "queued",
  "running",
  "completed",
  "failed",
  "cancelled"
]

export const stateWord = (s: JobState): Word => (s === "accepted" ? "state_accepted" : s)

export const Chip = ({ of }: { of: JobState }) => <span class={`chip ${of}`}>{t(stateWord(of))}</span>

export const Progress = ({ row }: { row: Row }) => {
  const { progress } = row
  if (row.state !== "running" || progress === undefined) return null
  const isCounted = progress.done !== undefined && progress.of !== undefined
  return (
    <span class="progress">
      {isCounted ? <progress value={progress.done} max={progress.of} aria-label={t("progress")} /> : null}
      <small>
        {t(progress.step)}
        {isCounted ? ` ${progress.done}/${progress.of}` : ""}
      </small>
    </span>
  )
}

const Line = ({ row }: { row: Row }) => (
  <tr>
    <th scope="row">
      <a href={`#/jobs/${row.job.jobId}`}>{row.job.jobId}</a>
    </th>
    <td data-name={t("state")}>
      <Chip of={row.state} />
      <Progress row={row} />
      {row.reason !== undefined && row.state !== "completed" ? <small class="reason">{row.reason}</small> : null}
    </td>
    <td data-name={t("report")}>
      {t(row.job.report)} <small>{row.job.format ?? "pdf"}</small>
    </td>
    <td data-name={t("delivery")} class={row.delivery === "none" ? "none" : ""}>
      {row.delivery === "none" ? "–" : t(row.delivery)}
    </td>
    <td data-name={t("runs")} class="number">
      {row.runs}
    </td>
    <td data-name={t("accepted")} class="number">
      <time title={full(row.acceptedAt)}>{time(row.acceptedAt)}</time>
    </td>
    <td class="end">
      {row.result === undefined ? null : (
        <a
          class="button"
          href={`/api/jobs/${row.job.jobId}/report`}
          aria-label={`${t("download")}: ${row.job.jobId}`}
          title={bytes(row.result.bytes)}
        >
          ↓
        </a>
      )}
    </td>
  </tr>
)

export const Jobs = () => (
  <>
    <div class="title">
      <h1>{t("jobs")}</h1>
      <p />
      {mayAct.value ? (
        <button type="button" class="primary" onClick={() => (isSubmitting.value = true)}>
          {t("submit")}
        </button>
      ) : null}
    </div>
    <Submit />
    <section class="card">
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          <span>{t("search")}</span>
          <input
            type="search"
            id="search"
            value={text.value}
            maxLength={48}
            pattern="[A-Za-z0-9\-]*"
            autocomplete="off"
            onInput={(e) => (text.value = e.currentTarget.value.replace(/[^A-Za-z0-9-]/g, ""))}
          />
        </label>
        <label>
          <span>{t("state")}</span>
          <select value={state.value} onChange={(e) => (state.value = e.currentTarget.value as JobState | "")}>
            <option value="">{t("all")}</option>
            {states.map((s) => (
              <option key={s} value={s}>
                {t(stateWord(s))}
              </option>
            ))}
          </select>
        </label>
      </form>
      {list.value === undefined ? null : list.value.length === 0 ? (
        <p class="empty">{t("noJobs")}</p>
      ) : (
        <table class="stack long">
          <caption class="hidden">{t("newest", list.value.length)}</caption>
          <thead>
            <tr>
              <th scope="col">{t("jobId")}</th>
              <th scope="col">{t("state")}</th>
              <th scope="col">{t("report")}</th>
              <th scope="col">{t("delivery")}</th>
              <th scope="col" class="number">
                {t("runs")}
              </th>
              <th scope="col" class="number">
                {t("accepted")}
              </th>
              <th scope="col">
                <span class="hidden">{t("download")}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.value.map((row) => (
              <Line key={row.job.jobId} row={row} />
            ))}
          </tbody>
        </table>
      )}
      {hasMore.value ? (
        <button type="button" onClick={more}>
          {t("more")}
        </button>
      ) : null}
    </section>
  </>
)
