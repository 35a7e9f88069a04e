/**
 * Which addresses a receiver may have. A job says where its notice goes, so whoever may submit jobs could else reach what
 * only this machine can: its own ports, its network, the credentials of its cloud.
 *
 * What is judged is the address that is connected to, never the name.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import dns from "node:dns/promises"
import { BlockList, isIP } from "node:net"

/**
 * Looks a name up: all its addresses. It fails with the system's error.
 *
 * @since 0.1.0
 * @category models
 */
export type Resolve = (hostname: string) => Effect.Effect<ReadonlyArray<string>, Error>

/**
 * As the system does, hosts file included.
 *
 * @since 0.1.0
 * @category constructors
 */
export const resolve: Resolve = (hostname) =>
  Effect.map(Effect.tryPromise({ try: () => dns.lookup(hostname, { all: true }), catch: (e) => e as Error }), (found) =>
    found.map(({ address }) => address)
  )

const listOf = (ranges: ReadonlyArray<string>): BlockList => {
  const list = new BlockList()
  for (const range of ranges) {
    const [net, prefix] = range.split("/") as [string, string]
    list.addSubnet(net, Number(prefix), net.includes(":") ? "ipv6" : "ipv4")
  }
  return list
}

/** Never, whatever is allowed: no receiver is there, but often the credentials of a cloud's machine are. */
const never = listOf([
  "0.0.0.0/8", // this host
  "169.254.0.0/16", // link-local, with the metadata services of most clouds
  "192.0.0.192/32", // one more of them
  "100.100.100.200/32", // and one more
  "168.63.129.16/32", // and one in public space
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
  "::/128",
  "fe80::/10",
  "fec0::/10", // site-local of old
  "fd00:ec2::254/128", // a metadata service
  "fd20:ce::254/128", // and one more
  "ff00::/8"
])

/** This machine, and networks that are not the internet. */
const local = listOf([
  "10.0.0.0/8",
  "100.64.0.0/10", // behind a carrier
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "198.18.0.0/15", // benchmarks
  "::1/128",
  "fc00::/7"
])

/** Of the IPv4 space, what else is not for anybody to reach; of the IPv6 space, it is the other way round. */
const special4 = listOf([
  "192.0.0.0/24",
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "198.51.100.0/24",
  "203.0.113.0/24"
])
const global6 = listOf(["2000::/3"])
const special6 = listOf([
  "2001::/23", // protocols, among them Teredo, whose addresses hold others
  "2001:db8::/32",
  "2002::/16", // 6to4, whose addresses hold others
  "3fff::/20"
])

const nat64 = listOf(["64:ff9b::/96"])

/** The IPv4 address that an address of a NAT64 gateway holds. */
const heldBy = (address: string): string => {
  const tail = address.slice(address.lastIndexOf("::") + 2)
  if (tail.includes(".")) return tail
  const [high, low] = tail.split(":").map((s) => parseInt(s, 16)) as [number, number?]
  const bits = low === undefined ? [0, high] : [high, low]
  return bits.flatMap((n) => [n! >> 8, n! & 255]).join(".")
}

/** Without a zone, in the one form that `URL` gives to it. */
const canonical = (address: string): { readonly text: string; readonly family: "ipv4" | "ipv6" } | undefined => {
  const text = address.split("%")[0]!
  switch (isIP(text)) {
    case 4:
      return { text, family: "ipv4" }
    case 6:
      return { text: new URL(`http://[${text}]`).hostname.slice(1, -1), family: "ipv6" }
    default:
      return undefined
  }
}

/**
 * Whether the address is one of the internet. What is no address is not.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isPublic = (address: string): boolean => {
  const a = canonical(address)
  if (a === undefined) return false
  if (a.family === "ipv6" && nat64.check(a.text, "ipv6")) return isPublic(heldBy(a.text))
  if (never.check(a.text, a.family) || local.check(a.text, a.family)) return false
  return a.family === "ipv4"
    ? !special4.check(a.text, "ipv4")
    : global6.check(a.text, "ipv6") && !special6.check(a.text, "ipv6")
}

/**
 * Whether the address is one of the internet, of a private network or of this machine; link-local and multicast
 * addresses, and those of the metadata services of clouds, are not.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isPrivateOrPublic = (address: string): boolean => {
  const a = canonical(address)
  if (a === undefined || never.check(a.text, a.family)) return false
  return local.check(a.text, a.family) || isPublic(a.text)
}
