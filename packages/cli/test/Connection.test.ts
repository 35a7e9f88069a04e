import { assert, describe, it } from "@effect/vitest"
import { SqsError } from "@effect-sqs/core"
import { Effect } from "effect"
import { CliError, Connection } from "../src/index.js"

const variables = [
  "AWS_REGION",
  "AWS_DEFAULT_REGION",
  "AWS_ENDPOINT_URL_SQS",
  "AWS_ENDPOINT_URL",
  "AWS_ACCESS_KEY_ID",
  "AWS_PROFILE"
]

/** What follows from flags and an environment that has these variables only. */
const decided = (asked: Partial<Connection.Asked>, env: Record<string, string> = {}) => {
  const before = Object.fromEntries(variables.map((name) => [name, process.env[name]]))
  for (const name of variables) delete process.env[name]
  Object.assign(process.env, env)
  try {
    return Effect.runSync(
      Effect.merge(Connection.decide({ endpoint: undefined, region: undefined, queue: "jobs", ...asked }))
    )
  } finally {
    for (const name of variables) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

const local = { accessKeyId: "local", secretAccessKey: "local" }

describe("connection", () => {
  it("takes the region of the flag, of the URL, of the environment, in this order", () => {
    const region = (asked: Partial<Connection.Asked>, env: Record<string, string> = {}) => {
      const found = decided(asked, env)
      return found instanceof CliError.CliError ? found.sentence : found.region
    }
    const env = { AWS_REGION: "eu-central-1", AWS_DEFAULT_REGION: "eu-north-1" }
    assert.strictEqual(region({ region: "us-west-2" }, env), "us-west-2")
    assert.strictEqual(region({}, env), "eu-central-1")
    assert.strictEqual(region({}, { AWS_REGION: "", AWS_DEFAULT_REGION: "eu-north-1" }), "eu-north-1")
    assert.strictEqual(region({}), undefined)
    for (const host of [
      "sqs.eu-west-1.amazonaws.com",
      "eu-west-1.queue.amazonaws.com",
      "sqs-fips.eu-west-1.amazonaws.com"
    ]) {
      assert.strictEqual(region({ queue: `https://${host}/111122223333/jobs` }, env), "eu-west-1")
    }
    assert.match(
      region({ region: "us-west-2", queue: "https://sqs.eu-west-1.amazonaws.com/1/jobs" })!,
      /^The queue's URL is of region eu-west-1, but --region says us-west-2/
    )
  })

  it("goes to the host of a URL that is not Amazon's, unless an endpoint is given", () => {
    const queue = "http://sqs.internal:9324/000000000000/jobs"
    assert.deepInclude(decided({ queue }), { endpoint: "http://sqs.internal:9324", region: undefined })
    assert.deepInclude(decided({ queue, endpoint: "http://other:1" }), { endpoint: "http://other:1" })
    assert.deepInclude(decided({ queue }, { AWS_ENDPOINT_URL_SQS: "http://env:1" }), { endpoint: "http://env:1" })
    assert.deepInclude(decided({ queue: "https://sqs.eu-west-1.amazonaws.com/1/jobs" }), { endpoint: undefined })
  })

  it("needs neither region nor credentials on this machine, and uses those that there are", () => {
    for (const endpoint of ["http://localhost:9324", "http://127.0.0.1:9324", "http://[::1]:9324"]) {
      assert.deepStrictEqual(decided({ endpoint }), { endpoint, region: "us-east-1", credentials: local })
    }
    assert.deepInclude(decided({ endpoint: "http://localhost:1" }, { AWS_PROFILE: "me" }), { credentials: undefined })
    assert.deepInclude(decided({ endpoint: "http://sqs.internal:1" }), { region: undefined, credentials: undefined })
  })
})

describe("errors of SQS", () => {
  const where = { endpoint: undefined, region: "eu-west-1" }
  const sentence = (code: string, detail = "as SQS says") => {
    const error = SqsError.fromCode({ operation: "GetQueueUrl", queue: "jobs", code, detail, httpStatus: 400 })
    const { exitCode, sentence } = CliError.fromSqs(error, where)
    assert.strictEqual(exitCode, CliError.ExitCode.sqs)
    return sentence
  }

  it("say what to do", () => {
    assert.match(
      sentence("AWS.SimpleQueueService.NonExistentQueue"),
      /^There is no queue jobs in region eu-west-1 of the account that these credentials belong to: check --queue/
    )
    assert.match(sentence("AccessDenied"), /^sqs:GetQueueUrl on jobs is not allowed: let the policy/)
    assert.match(sentence("ExpiredToken"), /^The credentials were not accepted \(ExpiredToken\): renew them/)
    assert.match(sentence("InvalidClientTokenId"), /^The credentials were not accepted/)
    assert.match(sentence("RequestThrottled"), /throttled/)
  })
})
