/** Answers as AWS JSON 1.0 has them on the wire. */
import type { ServerResponse } from "node:http"
import { ApiError } from "./apiError.js"

export const contentType = "application/x-amz-json-1.0"

export const errorBody = (error: ApiError): string => JSON.stringify({ __type: error.type, message: error.message })

const queryError = (error: ApiError): string => `${error.code};${error.senderFault ? "Sender" : "Receiver"}`

export const writeAnswer = (res: ServerResponse, requestId: string, answer: object | ApiError): void => {
  if (res.destroyed || res.writableEnded) return
  const failed = answer instanceof ApiError
  // as a string it goes out with the headers in one write
  const body = failed ? errorBody(answer) : JSON.stringify(answer)
  const length = Buffer.byteLength(body)
  const common = { "x-amzn-RequestId": requestId, "content-type": contentType, "content-length": length }
  if (failed) res.writeHead(answer.status, { ...common, "x-amzn-query-error": queryError(answer) })
  else res.writeHead(200, common)
  res.end(body)
}

export const writeJson = (res: ServerResponse, value: unknown): void => {
  const body = Buffer.from(JSON.stringify(value), "utf8")
  res.writeHead(200, { "content-type": "application/json", "content-length": body.length })
  res.end(body)
}

/** For what is so broken that there is no response to write to. */
export const rawError = (status: string, requestId: string, error: ApiError): string => {
  const body = errorBody(error)
  return (
    `HTTP/1.1 ${status}\r\nconnection: close\r\nx-amzn-RequestId: ${requestId}\r\ncontent-type: ${contentType}\r\n` +
    `x-amzn-query-error: ${queryError(error)}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}
