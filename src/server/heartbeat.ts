/**
 * Notices who does not answer any more: stopped, or stuck. It counts questions and not time, so that a machine that
 * slept, or a supervisor that was stopped together with all the others, finds nobody silent when it wakes.
 */
export const MISSED_BEATS_MAX = 5

export class Heartbeat<M> {
  /** Who owes an answer, and how many steps have gone by since it was asked. */
  readonly #owing = new Map<M, number>()

  /** Asks everybody who owes no answer; returns those who have owed one for too long, each once. */
  step(members: Iterable<M>, ask: (member: M) => void): M[] {
    const silent: M[] = []
    for (const member of members) {
      const missed = this.#owing.get(member)
      this.#owing.set(member, missed === undefined ? 0 : missed + 1)
      if (missed === undefined) ask(member)
      else if (missed + 1 === MISSED_BEATS_MAX) silent.push(member)
    }
    return silent
  }

  /** It has answered, or is gone. */
  settle(member: M): void {
    this.#owing.delete(member)
  }

  /** Steps for which the most silent one has owed its answer. */
  get longest(): number {
    return Math.max(0, ...this.#owing.values())
  }
}
