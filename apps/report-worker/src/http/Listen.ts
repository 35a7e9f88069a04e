/**
 * Which addresses are reached from where.
 *
 * @since 0.1.0
 */

/**
 * Whether only this machine reaches this address.
 *
 * @since 0.1.0
 * @category checks
 */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host)
