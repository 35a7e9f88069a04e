/**
 * The contract of the jobs as the command line sees it: which reports there are, which fields each has, and what is wrong
 * with something that is no job. All of it is read from the contract's schema.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import { hasProperty, isString } from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { ReportJob } from "../ReportJob.js"

/**
 * @since 0.1.0
 * @category models
 */
export type ReportName = ReportJob["report"]

/**
 * A field of a job: its name, what it may be, and whether it must be there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Field {
  readonly name: string
  readonly expected: string
  readonly isRequired: boolean
  readonly isNumber: boolean
}

/** fields that every job has */
const common = ["jobId", "report", "locale", "format", "pagesPerSecond", "drill", "webhook"]

/** as it stands in JSON */
const encoded = (field: { readonly ast: AST.AST | Schema.PropertySignature.AST }): AST.PropertySignature => {
  const { ast } = field
  switch (ast._tag) {
    case "PropertySignatureDeclaration":
      return new AST.PropertySignature("", ast.type, ast.isOptional, true)
    case "PropertySignatureTransformation":
      return new AST.PropertySignature("", ast.from.type, ast.from.isOptional, true)
    default:
      return new AST.PropertySignature("", ast, false, true)
  }
}

const expectedOf = (ast: AST.AST): string =>
  AST.getDescriptionAnnotation(ast).pipe((d) => (d._tag === "Some" ? d.value : String(ast)))

const fieldOf = (name: string, field: Parameters<typeof encoded>[0]): Field => {
  const { isOptional, type } = encoded(field)
  return {
    name,
    expected: expectedOf(type),
    isRequired: !isOptional,
    isNumber: AST.encodedAST(type)._tag === "NumberKeyword"
  }
}

const literal = (field: Parameters<typeof encoded>[0]): string => {
  const { type } = encoded(field)
  return AST.isLiteral(type) ? String(type.literal) : ""
}

type Fields = Readonly<Record<string, Parameters<typeof encoded>[0]>>

const members: ReadonlyArray<{ readonly fields: Fields }> = ReportJob.members

const allFields: ReadonlyMap<string, ReadonlyArray<Field>> = new Map(
  members.map(({ fields }) => [
    literal(fields.report!),
    Object.entries(fields).map(([name, field]) => fieldOf(name, field))
  ])
)

/**
 * The reports by their names.
 *
 * @since 0.1.0
 * @category constants
 */
export const reports: ReadonlyArray<ReportName> = [...allFields.keys()] as ReadonlyArray<ReportName>

/**
 * The fields that are a report's own.
 *
 * @since 0.1.0
 * @category getters
 */
export const parametersOf = (report: ReportName): ReadonlyArray<Field> =>
  allFields.get(report)!.filter(({ name }) => !common.includes(name))

/**
 * A field that every job has.
 *
 * @since 0.1.0
 * @category getters
 */
export const commonField = (name: (typeof common)[number]): Field =>
  allFields.get(reports[0]!)!.find((field) => field.name === name)!

const maxChars = 160

const clip = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars)}…` : text)

const sayIssue = (report: string, issue: ParseResult.ArrayFormatterIssue): string => {
  const known = allFields.get(report)!
  const [name] = issue.path
  switch (issue._tag) {
    case "Unexpected":
      return `there is no such field; ${report} has ${known.map((field) => field.name).join(", ")}`
    case "Missing": {
      const field = issue.path.length === 1 ? known.find((f) => f.name === name) : undefined
      return field === undefined ? "is missing" : `is missing: expected ${field.expected}`
    }
    default:
      return clip(issue.message)
  }
}

/**
 * A job; or its faults, each as the path of the field and a sentence.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = (
  value: unknown
): Either.Either<ReportJob, ReadonlyArray<{ readonly path: string; readonly fault: string }>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return Either.left([{ path: "", fault: `expected a job, an object such as {"report": "${reports[0]}", …}` }])
  }
  const report = hasProperty(value, "report") ? value.report : undefined
  if (!isString(report) || !allFields.has(report)) {
    const what = report === undefined ? "is missing" : `there is no report ${clip(JSON.stringify(report))}`
    return Either.left([{ path: "report", fault: `${what}: expected ${reports.join(", ")}` }])
  }
  return Either.mapLeft(Schema.decodeUnknownEither(ReportJob)(value, { errors: "all" }), (error) =>
    ParseResult.ArrayFormatter.formatErrorSync(error).map((issue) => ({
      path: issue.path.map(String).join("."),
      fault: sayIssue(report, issue)
    }))
  )
}
