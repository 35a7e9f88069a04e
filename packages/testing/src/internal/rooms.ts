/** Which room is behind a service: a server opens a second door into it. */
import type { Room } from "./room.js"

const rooms = new WeakMap<object, Room>()

export const registerRoom = (service: object, room: Room): void => {
  rooms.set(service, room)
}

export const roomOf = (service: object): Room => {
  const room = rooms.get(service)
  if (room === undefined) throw new TypeError("this VirtualSqs was not made by VirtualSqs.make")
  return room
}
