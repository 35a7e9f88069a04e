/** Commands of the AWS CLI, ready to be pasted into a shell. */
import type { Whereabouts } from "../CliError.js"

/** Quoted where a shell would read it otherwise. */
export const quoted = (text: string): string =>
  /^[A-Za-z0-9_./:=@,+-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`

export const awsCommands = (where: Whereabouts) => {
  const place = [
    ...(where.endpoint === undefined ? [] : ["--endpoint-url", where.endpoint]),
    ...(where.region === undefined ? [] : ["--region", where.region])
  ]
  const aws = (service: string, operation: string, ...args: ReadonlyArray<string>) =>
    ["aws", service, operation, ...args, ...place].map(quoted).join(" ")
  const setAttributes = (queueUrl: string, attributes: Readonly<Record<string, string>>) =>
    aws("sqs", "set-queue-attributes", "--queue-url", queueUrl, "--attributes", JSON.stringify(attributes))
  return { aws, setAttributes }
}
