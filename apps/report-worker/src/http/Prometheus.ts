/**
 * The metrics of the process in Prometheus' text format, version 0.0.4.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as MetricKey from "effect/MetricKey"
import type * as MetricPair from "effect/MetricPair"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

/**
 * @since 0.1.0
 * @category constants
 */
export const contentType = "text/plain; version=0.0.4; charset=utf-8"

const nameOf = (name: string) => name.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_")
const labelOf = (name: string) => nameOf(name).replaceAll(":", "_")
const escaped = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
const number = (n: number | bigint) =>
  n === Infinity ? "+Inf" : n === -Infinity ? "-Inf" : Number.isNaN(n) ? "NaN" : String(n)

type Labels = ReadonlyArray<readonly [string, string]>

const sample = (name: string, labels: Labels, value: number | bigint) => {
  const inside = labels.map(([k, v]) => `${labelOf(k)}="${escaped(v).replaceAll('"', '\\"')}"`).join(",")
  return `${name}${inside === "" ? "" : `{${inside}}`} ${number(value)}`
}

interface Family {
  readonly type: "counter" | "gauge" | "histogram" | "summary"
  readonly help: string
  readonly samples: Array<string>
}

/** a state as its family's kind and samples */
const read = (
  name: string,
  labels: Labels,
  state: MetricState.MetricState<any>
): { readonly name: string; readonly type: Family["type"]; readonly samples: ReadonlyArray<string> } => {
  if (MetricState.isCounterState(state)) {
    const total = name.endsWith("_total") ? name : `${name}_total`
    return { name: total, type: "counter", samples: [sample(total, labels, state.count)] }
  }
  if (MetricState.isGaugeState(state)) return { name, type: "gauge", samples: [sample(name, labels, state.value)] }
  if (MetricState.isHistogramState(state)) {
    const buckets = [...state.buckets].map(([le, count]) =>
      sample(`${name}_bucket`, [...labels, ["le", number(le)]], count)
    )
    return {
      name,
      type: "histogram",
      samples: [
        ...buckets,
        ...([...state.buckets].some(([le]) => le === Infinity)
          ? []
          : [sample(`${name}_bucket`, [...labels, ["le", "+Inf"]], state.count)]),
        sample(`${name}_sum`, labels, state.sum),
        sample(`${name}_count`, labels, state.count)
      ]
    }
  }
  if (MetricState.isSummaryState(state)) {
    return {
      name,
      type: "summary",
      samples: [
        ...[...state.quantiles].flatMap(([quantile, value]) =>
          Option.isNone(value) ? [] : [sample(name, [...labels, ["quantile", String(quantile)]], value.value)]
        ),
        sample(`${name}_sum`, labels, state.sum),
        sample(`${name}_count`, labels, state.count)
      ]
    }
  }
  if (MetricState.isFrequencyState(state)) {
    const total = `${name}_total`
    return {
      name: total,
      type: "counter",
      samples: [...state.occurrences].map(([value, count]) => sample(total, [...labels, ["value", value]], count))
    }
  }
  return { name, type: "gauge", samples: [] }
}

const helpOf = (key: MetricKey.MetricKey.Untyped, name: string) => Option.getOrElse(key.description, () => name)

/**
 * @since 0.1.0
 * @category rendering
 */
export const render = (pairs: Iterable<MetricPair.MetricPair.Untyped>): string => {
  const families = new Map<string, Family>()
  for (const { metricKey, metricState } of pairs) {
    const labels = metricKey.tags.map((tag) => [tag.key, tag.value] as const)
    labels.sort(([a], [b]) => (a < b ? -1 : 1))
    const { name, samples, type } = read(nameOf(metricKey.name), labels, metricState as MetricState.MetricState<any>)
    const family = families.get(name)
    if (family === undefined) families.set(name, { type, help: helpOf(metricKey, name), samples: [...samples] })
    // one name has one type: what another library calls the same is left out
    else if (family.type === type) family.samples.push(...samples)
  }
  return [...families]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .filter(([, { samples }]) => samples.length > 0)
    .map(
      ([name, { help, samples, type }]) =>
        `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${samples.join("\n")}\n`
    )
    .join("")
}

/**
 * What all metrics of this process say now.
 *
 * @since 0.1.0
 * @category rendering
 */
export const text: Effect.Effect<string> = Effect.map(Metric.snapshot, render)
