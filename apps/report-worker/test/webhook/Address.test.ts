import { assert, describe, it } from "@effect/vitest"
import * as Address from "../../src/webhook/Address.js"

const open = ["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "2606:4700:4700::1111", "2a00:1450:4001::200e"]

const here = [
  "127.0.0.1",
  "127.255.255.254",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "198.18.0.1",
  "::1",
  "0:0:0:0:0:0:0:1",
  "fc00::1",
  "fd12:3456::1"
]

const never = [
  "0.0.0.0",
  "0.1.2.3",
  "169.254.169.254",
  "169.254.0.1",
  "192.0.0.192",
  "100.100.100.200",
  "168.63.129.16",
  "224.0.0.1",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "fec0::1",
  "fd00:ec2::254",
  "fd00:0ec2:0:0:0:0:0:254",
  "fd20:ce::254",
  "ff02::1",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "::ffff:0.0.0.0"
]

/** Reserved, or with an IPv4 address inside that an intermediate may connect to. */
const special = [
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "198.51.100.1",
  "203.0.113.1",
  "2001::1",
  "2001:0:7f00:1::",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:a00:1::1",
  "3fff::1",
  "::127.0.0.1",
  "::ffff:0:127.0.0.1",
  "100::1",
  "4000::1",
  "64:ff9b::127.0.0.1",
  "64:ff9b::a00:1",
  "64:ff9b::",
  "64:ff9b:1::8.8.8.8"
]

describe("Address", () => {
  it("lets jobs reach the internet, and nothing else", () => {
    for (const address of [...open, "64:ff9b::8.8.8.8"]) assert.isTrue(Address.isPublic(address), address)
    for (const address of [...here, ...never, ...special]) assert.isFalse(Address.isPublic(address), address)
  })

  it("lets them reach private networks and this machine where that is allowed, but no link-local or metadata address", () => {
    for (const address of [...open, ...here]) assert.isTrue(Address.isPrivateOrPublic(address), address)
    for (const address of [...never, ...special]) assert.isFalse(Address.isPrivateOrPublic(address), address)
  })

  it("an IPv4 address in IPv6 form is judged as what it is", () => {
    for (const address of ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:192.168.0.1"]) {
      assert.isFalse(Address.isPublic(address), address)
    }
  })

  it("what is no address is not allowed", () => {
    for (const text of ["", "localhost", "127.1", "0x7f000001", "8.8.8.8.", "8.8.8.8/0", "::1::", "example.org"]) {
      assert.isFalse(Address.isPublic(text), text)
      assert.isFalse(Address.isPrivateOrPublic(text), text)
    }
  })
})
