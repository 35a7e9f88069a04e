/** Attributes of a message as they travel. */
/** An attribute as it travels in JSON: binary values are base64. */
export interface WireAttribute {
  readonly DataType: string
  readonly StringValue?: string | undefined
  readonly BinaryValue?: string | undefined
}
export interface WireAttributes {
  readonly [name: string]: WireAttribute
}
