/**
 * The shape of what the API answers when it does not do what was asked.
 *
 * @since 0.1.0
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

/**
 * A tag for programs and a sentence for people, under a status of HTTP.
 *
 * @since 0.1.0
 * @category constructors
 */
export const problemAt = <Tag extends string>(tag: Tag, status: number, description: string) =>
  Schema.Struct({ _tag: Schema.tag(tag), message: Schema.String }).annotations({
    ...HttpApiSchema.annotations({ status }),
    identifier: tag,
    description
  })
