import type { ByteView, DigestCommand, DigestReply } from './digest-work.ts'
import type { Md5, Md5Lanes } from './md5-lanes.ts'

/** An MD5, and what is to be done for it. */
interface Member {
  readonly md5: Md5
  readonly ahead: ByteView[]
  isEnded: boolean
}

export interface Md5Batch {
  start(lane: number): void
  /** False if this is none of the MD5s that were started here. */
  take(order: DigestCommand): boolean
}

/**
 * Who computes MD5s together, and when. It travels to a thread as text: everything in it is its own, and its functions
 * are methods, because bundlers that keep the names of functions wrap all others in something that stays behind.
 */
export function md5Batch(lanes: Md5Lanes, port: { postMessage(reply: DigestReply): void }): Md5Batch {
  const members = new Map<number, Member>()
  /** Those that have bytes ahead, who has waited longest first. */
  const ready = new Map<number, Member>()
  let isDue = false
  const company = {
    start(lane: number): void {
      members.set(lane, { md5: lanes.start(), ahead: [], isEnded: false })
    },

    take(order: DigestCommand): boolean {
      const { lane } = order
      const member = members.get(lane)
      if (member === undefined) return false
      if ('order' in order) {
        member.ahead.push(order)
        ready.set(lane, member)
      } else if ('end' in order && order.end === 'nothing') company.leave(lane, member)
      else if (member.ahead.length > 0) member.isEnded = true
      else company.finish(lane, member)
      company.soon()
      return true
    },

    /** When all that has come in meanwhile has been looked at. */
    soon(): void {
      if (isDue || !company.isTime()) return
      isDue = true
      setImmediate(company.turn)
    },

    /**
     * Who has bytes waits for others to have some too, but only until it has more or is at its end: a client that is
     * slow or silent keeps nobody waiting for longer than that.
     */
    isTime(): boolean {
      if (ready.size >= Math.min(4, members.size)) return ready.size > 0
      return [...ready.values()].some(({ ahead, isEnded }) => isEnded || ahead.length > 1)
    },

    /** Of all that are ready, up to four go on by an order each. */
    turn(): void {
      isDue = false
      const group = [...ready].slice(0, 4)
      lanes.update(group.map(([, { md5, ahead }]) => ({ md5, at: ahead[0]!.at, bytes: ahead[0]!.bytes })))
      for (const [lane, member] of group) {
        port.postMessage({ order: member.ahead.shift()!.order })
        ready.delete(lane)
        if (member.ahead.length > 0) ready.set(lane, member)
        else if (member.isEnded) company.finish(lane, member)
      }
      company.soon()
    },

    finish(lane: number, { md5 }: Member): void {
      members.delete(lane)
      port.postMessage({ lane, digest: lanes.digest(md5) })
    },

    leave(lane: number, { ahead }: Member): void {
      members.delete(lane)
      ready.delete(lane)
      for (const { order } of ahead) port.postMessage({ order })
    },
  }
  return company
}
