/**
 * Detects workers that no longer respond, stopped or stuck. It counts heartbeats and not time, so that no worker is
 * found unresponsive after the machine slept or the supervisor was stopped together with its workers.
 */
export const MISSED_BEATS_MAX = 5

export class Heartbeat<M> {
  /** Members with an unanswered heartbeat, and how many steps ago it was sent. */
  readonly #pending = new Map<M, number>()

  /** Sends a heartbeat to members without a pending one; returns those that missed too many, each once. */
  step(members: Iterable<M>, ping: (member: M) => void): M[] {
    const unresponsive: M[] = []
    for (const member of members) {
      const missed = this.#pending.get(member)
      this.#pending.set(member, missed === undefined ? 0 : missed + 1)
      if (missed === undefined) ping(member)
      else if (missed + 1 === MISSED_BEATS_MAX) unresponsive.push(member)
    }
    return unresponsive
  }

  /** The member has replied or exited. */
  settle(member: M): void {
    this.#pending.delete(member)
  }

  /** The largest number of steps that a heartbeat has been pending. */
  get longestMissed(): number {
    return Math.max(0, ...this.#pending.values())
  }
}
