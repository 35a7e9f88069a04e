/** The command as a process of its own, as a person starts it. */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { program } from "./programs.js"

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly onStart?: (child: ChildProcess) => void
}

const credentials = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local", AWS_REGION: "us-east-1" }

export const command = (args: ReadonlyArray<string>, options: CommandOptions): Effect.Effect<Ended> =>
  Effect.async<Ended>((resume) => {
    const child = spawn(process.execPath, [program("effect-sqs"), ...args], {
      cwd: options.cwd,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: options.cwd,
        AWS_EC2_METADATA_DISABLED: "true",
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
        ...(options.env ?? credentials)
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.once("close", (code, signal) => resume(Effect.succeed({ code, signal, stdout, stderr })))
    options.onStart?.(child)
    return Effect.sync(() => child.kill("SIGKILL"))
  })
